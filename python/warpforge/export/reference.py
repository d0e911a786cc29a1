"""What PyTorch itself computes: the values that a program's results are compared with."""

from collections import OrderedDict

import torch

from warpforge.export import outputs
from warpforge.export.model import Model
from warpforge.export.state import State


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
