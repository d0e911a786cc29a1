"""The part of Faster R-CNN before its proposals: ResNet-50, feature pyramid, and the head of the proposal network."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from warpforge.export.errors import ExportError
from warpforge.export.recipes.recipe import Recipe, Tensors, option
from warpforge.export.recipes.resnet import calm_residuals

ANCHORS = 3
"""Anchors per place: one scale per level, three aspect ratios."""


class Detector(nn.Module):
    """Backbone, pyramid and proposal head, as in torchvision's Faster R-CNN."""

    def __init__(self, trainable_layers: int) -> None:
        super().__init__()
        from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
        from torchvision.models.detection.rpn import RPNHead

        self.backbone = resnet_fpn_backbone(backbone_name="resnet50", weights=None, trainable_layers=trainable_layers)
        self.head = RPNHead(self.backbone.out_channels, ANCHORS)
        calm_residuals(self.backbone)

    def forward(self, images: torch.Tensor) -> dict[str, dict[str, torch.Tensor]]:
        """Per level: features, a score per anchor, and four box offsets per anchor."""
        features = self.backbone(images)
        scores, offsets = self.head(list(features.values()))
        return {
            "features": dict(features),
            "objectness": dict(zip(features, scores, strict=True)),
            "offsets": dict(zip(features, offsets, strict=True)),
        }


@dataclass
class BackboneAndProposals(Recipe):
    """The recipe `resnet50-fpn-rpn`."""

    name: ClassVar[str] = "resnet50-fpn-rpn"
    summary: ClassVar[str] = "ResNet-50 FPN backbone and RPN head of Faster R-CNN, any resolution"

    batch: int = option(1, "images in the batch")
    height: int = option(800, "height of an image")
    width: int = option(800, "width of an image")
    trainable_layers: int = option(3, "backbone stages that are trained, counted from the top (1 to 5)")

    def check(self) -> None:
        """Stages exist."""
        if self.trainable_layers > 5:
            raise ExportError(f"{self.name}: trainable_layers is {self.trainable_layers}; the backbone has 5 stages")

    def module(self) -> nn.Module:
        """The detector with frozen batch normalization."""
        return Detector(self.trainable_layers)

    def inputs(self, generator: torch.Generator) -> Tensors:
        """Normally distributed images."""
        return {"images": torch.randn(self.batch, 3, self.height, self.width, generator=generator)}

    def places(self) -> int:
        """How many places all levels of the pyramid have together."""
        height, width, total = self.height, self.width, 0
        for level in range(7):
            # The stem halves twice, each of three stages once, the last level of the pyramid once more.
            height, width = (height + 1) // 2, (width + 1) // 2
            if 1 <= level <= 5:
                total += height * width
        return total

    def targets(self, generator: torch.Generator) -> Tensors:
        """For each anchor whether it holds an object, and the offsets of the box if so."""
        shape = (self.batch, self.places() * ANCHORS)
        return {
            "objectness": (torch.rand(shape, generator=generator) < 0.25).float(),
            "offsets": torch.randn(*shape, 4, generator=generator),
        }

    def loss(self, returned: Any, targets: Tensors) -> torch.Tensor:
        """Binary cross entropy over all anchors, and smooth L1 over those that hold an object."""
        scores = torch.cat([_rows(level, 1) for level in returned["objectness"].values()], dim=1).squeeze(-1)
        offsets = torch.cat([_rows(level, 4) for level in returned["offsets"].values()], dim=1)
        held = targets["objectness"]
        distance = F.smooth_l1_loss(offsets, targets["offsets"], beta=1 / 9, reduction="none").sum(-1)
        return F.binary_cross_entropy_with_logits(scores, held) + (distance * held).sum() / held.numel()


def _rows(level: torch.Tensor, width: int) -> torch.Tensor:
    """One level's predictions as rows per anchor: (batch, anchors of the level, width)."""
    batch, _, height, length = level.shape
    split = level.reshape(batch, ANCHORS, width, height, length)
    return split.permute(0, 3, 4, 1, 2).reshape(batch, -1, width)
