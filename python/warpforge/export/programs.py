"""The programs of a model as JAX functions, with a name and a role for each argument and result.

Arguments and results are ordered dictionaries by role, so that the flat order in the program is the order of the roles
below and, inside a role, of the model's own names.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import torch

from warpforge.export import functional
from warpforge.export.functional import Arrays
from warpforge.export.model import Model
from warpforge.export.state import State

Group = tuple[str, Arrays]
"""A role, and the arguments or results that have it by name."""


@dataclass(frozen=True)
class Program:
    """One function to be lowered: its arguments by role, and a function from these to its results by role."""

    name: str
    function: Callable[..., OrderedDict[str, Arrays]]
    arguments: Sequence[Group]
    settings: dict[str, object]
    """What was fixed when the program was made, such as hyperparameters."""
    donated: bool = False
    """Whether a result takes the place of the argument of the same role and name."""


def shape_of(tensor: torch.Tensor) -> jax.ShapeDtypeStruct:
    """The shape and element type a tensor has in a program: 64-bit types become 32-bit ones."""
    name = str(tensor.dtype).removeprefix("torch.")
    narrow = {"int64": "int32", "float64": "float32", "complex128": "complex64", "uint64": "uint32"}
    return jax.ShapeDtypeStruct(tuple(tensor.shape), jax.numpy.dtype(narrow.get(name, name)))


def _shapes(tensors: Any) -> Arrays:
    return OrderedDict((name, shape_of(tensor)) for name, tensor in tensors.items())


def forward(model: Model, state: State) -> Program:
    """Parameters, buffers and inputs to outputs, in evaluation mode."""

    def function(parameters: Arrays, buffers: Arrays, inputs: Arrays) -> OrderedDict[str, Arrays]:
        model.module.eval()
        traced = functional.call(model, state, parameters, buffers, inputs)
        return OrderedDict(output=traced.outputs)

    groups = [
        ("parameter", _shapes(state.parameters)),
        ("buffer", _shapes(state.buffers)),
        ("input", _shapes(model.inputs)),
    ]
    return Program("forward", function, groups, {"mode": "eval"})


def gradients(model: Model, state: State, mode: str) -> Program:
    """Parameters, buffers, inputs and targets to the loss, its gradients and changed buffers."""
    trainable = set(state.trainable)

    def function(parameters: Arrays, buffers: Arrays, inputs: Arrays, targets: Arrays) -> OrderedDict[str, Arrays]:
        model.module.train(mode == "train")
        chosen = OrderedDict((name, value) for name, value in parameters.items() if name in trainable)

        def loss(values: Arrays) -> tuple[Any, functional.Traced]:
            traced = functional.call(model, state, {**parameters, **values}, buffers, inputs, targets)
            return traced.loss, traced

        (value, traced), found = jax.value_and_grad(loss, has_aux=True)(chosen)
        results = OrderedDict(loss=OrderedDict(loss=value), gradient=found)
        if traced.buffers:
            results["buffer"] = traced.buffers
        return results

    groups = [
        ("parameter", _shapes(state.parameters)),
        ("buffer", _shapes(state.buffers)),
        ("input", _shapes(model.inputs)),
        ("target", _shapes(model.targets)),
    ]
    return Program("gradients", function, groups, {"mode": mode})


def training(name: str, model: Model, state: State, mode: str, update: Program) -> Program:
    """One step: the gradients, and the optimizer's update from them.

    Parameters, state and buffers that the step returns anew are donated: they may take the place of the old ones.
    """
    backward = gradients(model, state, mode)
    groups = {**dict(backward.arguments), **dict(update.arguments[2:])}

    def function(
        parameters: Arrays, buffers: Arrays, inputs: Arrays, targets: Arrays, moments: Arrays, hyperparameters: Arrays
    ) -> OrderedDict[str, Arrays]:
        found = backward.function(parameters, buffers, inputs, targets)
        chosen = OrderedDict((key, parameters[key]) for key in state.trainable)
        updated = update.function(chosen, found["gradient"], moments, hyperparameters)
        results = OrderedDict(loss=found["loss"], parameter=updated["parameter"], state=updated["state"])
        if "buffer" in found:
            results["buffer"] = found["buffer"]
        return results

    settings = {**backward.settings, **update.settings}
    return Program(name, function, list(groups.items()), settings, donated=True)


def dtype_name(dtype: Any) -> str:
    """An element type by the name StableHLO gives it."""
    name: str = np.dtype(dtype).name
    letters = {"bool": "i1", "bfloat16": "bf16", "complex64": "complex<f32>", "complex128": "complex<f64>"}
    if name in letters:
        return letters[name]
    for long, short in (("float", "f"), ("uint", "ui"), ("int", "i")):
        if name.startswith(long) and name[len(long) :].isdigit():
            return short + name[len(long) :]
    return name
