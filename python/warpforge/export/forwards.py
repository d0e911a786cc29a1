"""Other `forward` methods for the modules of a model, for a limited time."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

Forward = Callable[..., Any]


@contextlib.contextmanager
def replaced(root: nn.Module, change: Callable[[str, nn.Module, Forward], Forward | None]) -> Iterator[None]:
    """Gives each submodule the `forward` that `change` makes of its name, itself and its present one; None keeps it."""
    undo: list[tuple[nn.Module, Any]] = []
    absent = object()
    try:
        for name, module in root.named_modules():
            new = change(name, module, module.forward)
            if new is not None:
                undo.append((module, vars(module).get("forward", absent)))
                vars(module)["forward"] = new
        yield
    finally:
        for module, old in reversed(undo):
            if old is absent:
                vars(module).pop("forward", None)
            else:
                vars(module)["forward"] = old
