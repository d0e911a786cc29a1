"""The `nn.Module` of an export with the exported weights in it, for PyTorch and for what is converted from PyTorch."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import torch
from protocol import Request
from safetensors import safe_open
from torch import nn


def build(request: Request, dtype: torch.dtype) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """The module in evaluation mode, and its inputs by name; floating-point tensors are of `dtype`."""
    module = described(request, dtype).module
    module.eval()
    module.requires_grad_(False)
    return module, build_inputs(request, dtype)


def described(request: Request, dtype: torch.dtype) -> Any:
    """The recipe's model, with its loss, and the exported weights in it."""
    from warpforge.export.recipes import RECIPES

    said = request.manifest()["model"]
    kind = RECIPES[said["name"]]
    options = {each.name: said["options"][each.name] for each in fields(kind)}
    model = kind(**options).build(said["seed"], dtype, weights=False)
    _assign(model.module, request)
    return model


def build_inputs(request: Request, dtype: torch.dtype, role: str = "input") -> dict[str, torch.Tensor]:
    """The inputs, or targets, by name, as the module takes them."""
    inputs = {}
    with safe_open(str(request.export / "inputs.safetensors"), framework="pt") as file:
        for argument in request.entry(request.export)["arguments"]:
            if argument["role"] != role:
                continue
            tensor = file.get_tensor(argument["tensor"]["key"]).clone()
            # The file narrows what PyTorch models take as 64-bit integers.
            inputs[argument["name"]] = tensor.to(dtype) if tensor.is_floating_point() else tensor.long()
    return inputs


def _assign(module: nn.Module, request: Request) -> None:
    """Puts the content of the weights file in place of tensors that have shapes only."""
    with safe_open(str(request.export / "weights.safetensors"), framework="pt") as file:
        kept = set(file.keys())
        filled: dict[int, torch.Tensor] = {}
        for owner, group, key, name, tensor in list(_held(module)):
            if name in kept and id(tensor) not in filled:
                # A copy of one's own, aligned as PyTorch aligns: views into a file are not.
                content = file.get_tensor(name).to(tensor.dtype).clone()
                is_parameter = isinstance(tensor, nn.Parameter)
                filled[id(tensor)] = nn.Parameter(content, tensor.requires_grad) if is_parameter else content
            if id(tensor) in filled:
                group[key] = filled[id(tensor)]
            elif tensor.is_meta:
                raise ValueError(f"weights.safetensors has no {name} for {type(owner).__name__}")


def _held(module: nn.Module) -> Iterator[tuple[nn.Module, Any, str, str, torch.Tensor]]:
    """Every tensor of the module: its owner, the dictionary and key that hold it, and its whole name."""
    for prefix, owner in module.named_modules():
        for group in (owner._parameters, owner._buffers, vars(owner)):
            for key, tensor in list(group.items()):
                if isinstance(tensor, torch.Tensor):
                    yield owner, group, key, f"{prefix}.{key}" if prefix else key, tensor


class Flat(nn.Module):
    """A module that returns its tensors as a tuple, in the order of the manifest, from inputs in order."""

    def __init__(self, module: nn.Module, names: list[str]) -> None:
        super().__init__()
        self.module = module
        self.names = names

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The module's results."""
        from warpforge.export.outputs import flatten

        return tuple(flatten(self.module(**dict(zip(self.names, inputs, strict=True)))).values())
