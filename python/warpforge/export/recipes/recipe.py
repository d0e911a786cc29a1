"""What a recipe is: options with defaults, a module with random weights, an example batch and a loss."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

import torch
from torch import nn

from warpforge.export.errors import ExportError
from warpforge.export.model import Model, Tensors

__all__ = ["Recipe", "Tensors", "cast_module", "divides", "option"]


def option(default: Any, meaning: str, choices: tuple[str, ...] | None = None) -> Any:
    """A field of a recipe: its default, what it means, and the values it may have."""
    return field(default=default, metadata={"meaning": meaning, "choices": choices})


@dataclass
class Recipe:
    """A workload. Subclasses are data classes whose fields are its options."""

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    def module(self) -> nn.Module:
        """The module, with random weights from PyTorch's generator."""
        raise NotImplementedError

    def inputs(self, generator: torch.Generator) -> Tensors:
        """An example batch."""
        raise NotImplementedError

    def targets(self, generator: torch.Generator) -> Tensors:
        """What the loss compares with."""
        raise NotImplementedError

    def loss(self, returned: Any, targets: Tensors) -> torch.Tensor:
        """The training loss."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuses options that do not fit together."""

    def build(self, seed: int = 0, dtype: torch.dtype = torch.float32, weights: bool = True) -> Model:
        """The model; without weights its parameters have shapes only, whatever their size."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int) and value < 1:
                raise ExportError(f"{self.name}: {each.name} is {value}; it must be at least 1")
        self.check()
        # Sampling depends on the seed alone, not on what ran before or on the module's size.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            with torch.device("cpu" if weights else "meta"):
                module = cast_module(self.module(), dtype)
        inputs, targets = self.batch_of(torch.Generator().manual_seed(seed), dtype)
        return Model(
            module=module,
            inputs=inputs,
            targets=targets,
            loss=self.loss,
            name=self.name,
            options={**asdict(self), "dtype": str(dtype).removeprefix("torch.")},
            batch=lambda generator: self.batch_of(generator, dtype),
        )

    def batch_of(self, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> tuple[Tensors, Tensors]:
        """Inputs and targets of one batch, floating-point ones cast."""

        def cast(tensors: Tensors) -> dict[str, torch.Tensor]:
            return {name: _cast(tensor, dtype) for name, tensor in tensors.items()}

        return cast(self.inputs(generator)), cast(self.targets(generator))


def cast_module(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Casts parameters and saved buffers; what is derived, such as rotary frequencies, keeps its precision."""
    derived = [
        (inner, name, inner._buffers[name]) for inner in module.modules() for name in inner._non_persistent_buffers_set
    ]
    module.to(dtype)
    for inner, name, tensor in derived:
        inner._buffers[name] = tensor
    return module


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def divides(recipe: Recipe, part: str, whole: str) -> None:
    """Refuses options of which one does not divide the other."""
    small, large = getattr(recipe, part), getattr(recipe, whole)
    if large % small:
        raise ExportError(f"{recipe.name}: {part} ({small}) must divide {whole} ({large})")
