"""What is exported: a module, an example batch, and the loss its gradients are taken of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Loss = Callable[[Any, Mapping[str, torch.Tensor]], torch.Tensor]
"""From what the module returned and the targets to a scalar, written in PyTorch."""


@dataclass
class Model:
    """A module with everything an export needs to know about it.

    Gradients are taken of `loss` with respect to every parameter with `requires_grad`; without a loss only the
    forward program exists. Inputs are the keyword arguments of the module's `forward`, in the order in which the
    programs take them.
    """

    module: nn.Module
    inputs: Mapping[str, torch.Tensor]
    targets: Mapping[str, torch.Tensor] = field(default_factory=dict)
    loss: Loss | None = None
    name: str = "model"
    options: Mapping[str, object] = field(default_factory=dict)
    """What the model was made with, for the manifest."""
