"""Optimizer steps as programs: parameters, gradients and state to parameters and state.

The formulas are PyTorch's, in the same order of operations. The learning rate is an argument, so that a schedule needs
no second program; everything else is fixed when the program is made.
"""

import math
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp

from warpforge.export.functional import Arrays
from warpforge.export.programs import Program


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent with momentum, as `torch.optim.SGD`."""

    momentum: float = 0.9
    weight_decay: float = 0.0
    nesterov: bool = False

    def program(self, parameters: Arrays) -> Program:
        """The step for these parameters; the state is one momentum buffer per parameter, zero at first."""

        def step(parameter: Any, gradient: Any, buffer: Any, rate: Any) -> tuple[Any, Any]:
            if self.weight_decay:
                gradient = gradient + self.weight_decay * parameter
            buffer = self.momentum * buffer + gradient
            direction = gradient + self.momentum * buffer if self.nesterov else buffer
            return parameter - rate.astype(parameter.dtype) * direction, buffer

        def function(
            values: Arrays, gradients: Arrays, state: Arrays, hyperparameters: Arrays
        ) -> OrderedDict[str, Arrays]:
            rate = hyperparameters["learning_rate"]
            new, buffers = Arrays(), Arrays()
            for name, value in values.items():
                key = f"{name}.momentum"
                new[name], buffers[key] = step(value, gradients[name], state[key], rate)
            return OrderedDict(parameter=new, state=buffers)

        state = OrderedDict((f"{name}.momentum", value) for name, value in parameters.items())
        return _program("sgd", function, parameters, state, {"optimizer": "sgd", **asdict(self)})


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay, as `torch.optim.AdamW`."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.01

    def program(self, parameters: Arrays) -> Program:
        """The step for these parameters; the state is two moments per parameter and a count, all zero at first."""

        def function(
            values: Arrays, gradients: Arrays, state: Arrays, hyperparameters: Arrays
        ) -> OrderedDict[str, Arrays]:
            rate = hyperparameters["learning_rate"]
            count = state["step"] + 1.0
            # 1 - beta^count, without the cancellation that single precision would suffer at the first steps.
            correction1 = -jnp.expm1(count * math.log(self.beta1)) if self.beta1 else jnp.ones_like(count)
            correction2 = -jnp.expm1(count * math.log(self.beta2)) if self.beta2 else jnp.ones_like(count)
            new, moments = Arrays(), Arrays(step=count)
            for name, value in values.items():
                gradient = gradients[name]
                first = state[f"{name}.exp_avg"]
                second = state[f"{name}.exp_avg_sq"]
                kind = value.dtype
                value = value * (1.0 - rate * self.weight_decay).astype(kind)
                first = first + (gradient - first) * (1.0 - self.beta1)
                second = second * self.beta2 + gradient * gradient * (1.0 - self.beta2)
                spread = jnp.sqrt(second) / jnp.sqrt(correction2).astype(kind) + self.epsilon
                new[name] = value - (rate / correction1).astype(kind) * (first / spread)
                moments[f"{name}.exp_avg"] = first
                moments[f"{name}.exp_avg_sq"] = second
            return OrderedDict(parameter=new, state=moments)

        state = Arrays(step=jax.ShapeDtypeStruct((), jnp.float32))
        for name, value in parameters.items():
            state[f"{name}.exp_avg"] = value
            state[f"{name}.exp_avg_sq"] = value
        return _program("adamw", function, parameters, state, {"optimizer": "adamw", **asdict(self)})


def _program(name: str, function: Any, parameters: Arrays, state: Arrays, settings: dict[str, object]) -> Program:
    gradients = OrderedDict(parameters)
    hyperparameters = Arrays(learning_rate=jax.ShapeDtypeStruct((), jnp.float32))
    groups = [
        ("parameter", parameters),
        ("gradient", gradients),
        ("state", state),
        ("hyperparameter", hyperparameters),
    ]
    return Program(name, function, groups, settings)
