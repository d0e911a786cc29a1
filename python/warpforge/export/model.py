"""What is exported: a module, an example batch, and the loss its gradients are taken of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Tensors = Mapping[str, torch.Tensor]
"""Tensors by name."""

Loss = Callable[[Any, Tensors], torch.Tensor]
"""From what the module returned and the targets to a scalar, written in PyTorch."""

Batch = Callable[[torch.Generator], tuple[Tensors, Tensors]]
"""From random numbers to inputs and targets, of the same names, shapes and types as the example."""

Metrics = Callable[[Any, Tensors], dict[str, float]]
"""From what the module returned in evaluation mode and the targets to numbers by name."""


@dataclass
class Model:
    """A module with everything an export needs to know about it.

    Gradients are taken of `loss` with respect to every parameter with `requires_grad`; without a loss only the
    forward program exists. Inputs are the keyword arguments of the module's `forward`, in the order in which the
    programs take them.
    """

    module: nn.Module
    inputs: Tensors
    targets: Tensors = field(default_factory=dict)
    loss: Loss | None = None
    name: str = "model"
    options: Mapping[str, object] = field(default_factory=dict)
    """What the model was made with, for the manifest."""
    batch: Batch | None = None
    """Further batches, for golden runs; without it every step sees the example."""
    metrics: Metrics | None = None
    """What a golden run measures when it is over."""
