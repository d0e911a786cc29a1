"""What a module returned, flat and with names.

PyTorch modules return tensors, tuples, dictionaries and data classes of these. The names are the path to each tensor:
`logits`, `0`, `features.pool`; a lone tensor has an empty path.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from warpforge.export.errors import ExportError


def flatten(value: Any, path: str = "") -> dict[str, torch.Tensor]:
    """Every tensor in `value` by its path, in the order of the structure."""
    if isinstance(value, torch.Tensor):
        return {path: value}
    if value is None or isinstance(value, bool | int | float | str):
        return {}
    found: dict[str, torch.Tensor] = {}
    for key, part in _parts(value):
        found.update(flatten(part, f"{path}.{key}" if path else str(key)))
    return found


def replace(value: Any, change: Callable[[str, torch.Tensor], torch.Tensor], path: str = "") -> Any:
    """The same structure with every tensor replaced; structures that are not plain stay as they are."""
    if isinstance(value, torch.Tensor):
        return change(path, value)

    def part(key: object, inner: Any) -> Any:
        return replace(inner, change, f"{path}.{key}" if path else str(key))

    if type(value) in (tuple, list):
        return type(value)(part(index, inner) for index, inner in enumerate(value))
    if isinstance(value, dict):
        # In place: data classes that are dictionaries too keep both in step.
        for key in list(value):
            value[key] = part(key, value[key])
    return value


def _parts(value: Any) -> list[tuple[object, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=True))
    if isinstance(value, tuple | list):
        return list(enumerate(value))
    if hasattr(value, "__dataclass_fields__"):
        return [(name, getattr(value, name)) for name in value.__dataclass_fields__]
    raise ExportError(
        f"a module returned {type(value).__name__}; expected tensors, tuples, dictionaries or data classes of these"
    )
