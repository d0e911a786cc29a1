"""A multilayer perceptron: the smallest model with everything a program has."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from warpforge.export.recipes.recipe import Recipe, Tensors, option


class Perceptron(nn.Module):
    """Two linear layers with a GELU between them."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits for each row of `x`."""
        logits: torch.Tensor = self.down(F.gelu(self.up(x)))
        return logits


@dataclass
class Mlp(Recipe):
    """The recipe `mlp`."""

    name: ClassVar[str] = "mlp"
    summary: ClassVar[str] = "a two-layer perceptron with GELU, cross entropy"

    batch: int = option(8, "rows in the batch")
    features: int = option(16, "features of a row")
    hidden: int = option(32, "width of the hidden layer")
    classes: int = option(4, "classes to tell apart")

    def module(self) -> nn.Module:
        """The perceptron."""
        return Perceptron(self.features, self.hidden, self.classes)

    def inputs(self, generator: torch.Generator) -> Tensors:
        """Normally distributed rows."""
        return {"x": torch.randn(self.batch, self.features, generator=generator)}

    def targets(self, generator: torch.Generator) -> Tensors:
        """A class per row."""
        return {"label": torch.randint(self.classes, (self.batch,), generator=generator)}

    def loss(self, returned: Any, targets: Tensors) -> torch.Tensor:
        """Cross entropy."""
        return F.cross_entropy(returned, targets["label"])
