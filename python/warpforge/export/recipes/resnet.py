"""ResNet-50 as a classifier."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from warpforge.export.recipes.recipe import Recipe, Tensors, option


def calm_residuals(module: nn.Module, scale: float = 0.25) -> None:
    """Makes the last normalization of each residual block small.

    Without trained statistics each block would double the variance, and sixteen of them would drown everything in the
    last one.
    """
    for name, inner in module.named_modules():
        if name.split(".")[-1] == "bn3" and isinstance(inner.weight, torch.Tensor):
            with torch.no_grad():
                inner.weight.fill_(scale)


@dataclass
class ResNet50(Recipe):
    """The recipe `resnet50`."""

    name: ClassVar[str] = "resnet50"
    summary: ClassVar[str] = "ResNet-50 classifier; gradients in training mode return the new running statistics"

    batch: int = option(1, "images in the batch")
    resolution: int = option(224, "height and width of an image")
    classes: int = option(1000, "classes to tell apart")

    def module(self) -> nn.Module:
        """Torchvision's ResNet-50."""
        from torchvision.models import resnet50

        module: nn.Module = resnet50(weights=None, num_classes=self.classes)
        calm_residuals(module)
        return module

    def inputs(self, generator: torch.Generator) -> Tensors:
        """Normally distributed images."""
        return {"x": torch.randn(self.batch, 3, self.resolution, self.resolution, generator=generator)}

    def targets(self, generator: torch.Generator) -> Tensors:
        """A class per image."""
        return {"label": torch.randint(self.classes, (self.batch,), generator=generator)}

    def loss(self, returned: Any, targets: Tensors) -> torch.Tensor:
        """Cross entropy."""
        return F.cross_entropy(returned, targets["label"])
