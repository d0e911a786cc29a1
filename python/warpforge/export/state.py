"""The tensors of a module by name, as programs and files of tensors know them. PyTorch only."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class State:
    """The tensors of a module by name: parameters, and everything else its computation reads."""

    parameters: dict[str, torch.Tensor]
    buffers: dict[str, torch.Tensor]
    aliases: dict[str, list[str]]
    """Further names of a tensor that has several, by its first name."""

    @property
    def trainable(self) -> list[str]:
        """The parameters that gradients are taken of."""
        return [name for name, tensor in self.parameters.items() if tensor.requires_grad]


def state_of(module: nn.Module) -> State:
    """Collects parameters, buffers and tensors held as plain attributes; each tensor once, under its first name."""
    parameters: dict[str, torch.Tensor] = {}
    buffers: dict[str, torch.Tensor] = {}
    aliases: dict[str, list[str]] = {}
    first: dict[int, str] = {}

    def add(group: dict[str, torch.Tensor], name: str, tensor: torch.Tensor) -> None:
        known = first.setdefault(id(tensor), name)
        if known == name:
            group[name] = tensor
        else:
            aliases.setdefault(known, []).append(name)

    for name, parameter in module.named_parameters(remove_duplicate=False):
        add(parameters, name, parameter)
    for name, buffer in module.named_buffers(remove_duplicate=False):
        add(buffers, name, buffer)
    for prefix, inner in module.named_modules():
        for key, value in vars(inner).items():
            if isinstance(value, torch.Tensor):
                add(buffers, f"{prefix}.{key}" if prefix else key, value)
    return State(parameters, buffers, aliases)
