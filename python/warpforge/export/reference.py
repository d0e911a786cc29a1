"""What PyTorch itself computes: the values that a program's results are compared with."""

import copy
from collections import OrderedDict
from dataclasses import replace

import torch

from warpforge.export import outputs
from warpforge.export.model import Model, Tensors
from warpforge.export.optimizers import AdamW, Sgd
from warpforge.export.state import State


def double(model: Model) -> Model:
    """The same model with the same numbers, in double precision."""

    def wide(tensors: Tensors) -> dict[str, torch.Tensor]:
        return {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}

    module = copy.deepcopy(model.module).double()
    return replace(model, module=module, inputs=wide(model.inputs), targets=wide(model.targets))


def forward(model: Model) -> OrderedDict[str, torch.Tensor]:
    """The module's outputs in evaluation mode."""
    model.module.eval()
    with torch.no_grad():
        found = outputs.flatten(model.module(**model.inputs))
    return OrderedDict((name or "output", tensor.detach()) for name, tensor in found.items())


def gradients(
    model: Model, state: State, mode: str
) -> tuple[torch.Tensor, dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The loss, the gradients of the trainable parameters and the buffers afterwards; the module is left as it was."""
    assert model.loss is not None, "gradients are asked for only where there is a loss"
    before = {name: tensor.detach().clone() for name, tensor in state.buffers.items()}
    model.module.train(mode == "train")
    model.module.zero_grad(set_to_none=True)
    loss = model.loss(model.module(**model.inputs), model.targets)
    loss.backward()  # type: ignore[no-untyped-call]
    found = {}
    for name in state.trainable:
        parameter = state.parameters[name]
        found[name] = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.detach().clone()
    after = {name: tensor.detach().clone() for name, tensor in state.buffers.items()}
    model.module.zero_grad(set_to_none=True)
    with torch.no_grad():
        for name, tensor in state.buffers.items():
            tensor.copy_(before[name])
    return loss.detach(), found, after


def training(model: Model, state: State, mode: str, optimizer: Sgd | AdamW, rate: float) -> dict[str, torch.Tensor]:
    """What one step from the first state returns, by role and name.

    Of AdamW's new parameters nothing is said: its first step is the sign of the gradient, and where a gradient is zero
    but for rounding, that is anything. The first moments say the same of the gradients without that.
    """
    loss, found, buffers = gradients(model, state, mode)
    values = {"loss.loss": loss, **{f"buffer.{name}": tensor for name, tensor in buffers.items()}}
    for name, gradient in found.items():
        if isinstance(optimizer, AdamW):
            values[f"state.{name}.exp_avg"] = gradient * (1.0 - optimizer.beta1)
            continue
        before = state.parameters[name].detach()
        buffer = gradient + optimizer.weight_decay * before
        direction = buffer * (1.0 + optimizer.momentum) if optimizer.nesterov else buffer
        values[f"state.{name}.momentum"] = buffer
        values[f"parameter.{name}"] = before - rate * direction
    return values
