"""The one place that imports torchax, and what has to be arranged around it.

torchax registers a lowering for each ATen operator it knows by name. A PyTorch newer than the one it was written for
has dropped some of those names (`aten.cholesky`, the overloads for named dimensions), and the import would end there.
While torchax is imported, and only then, such a name yields a placeholder that no call can ever match.
"""

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import _ops


class _Absent:
    """Stands for an operator that this PyTorch does not have."""

    def __getattr__(self, name: str) -> "_Absent":
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent()


@contextlib.contextmanager
def _absent_operators_tolerated() -> Iterator[None]:
    """Turns a missing operator or overload into a placeholder instead of an error."""
    originals = [(kind, kind.__getattr__) for kind in (_ops._OpNamespace, _ops.OpOverloadPacket)]

    def tolerant(original: Any) -> Any:
        def lookup(self: Any, name: str) -> Any:
            try:
                return original(self, name)
            except AttributeError:
                if name.startswith("__"):
                    raise
                return _Absent()

        return lookup

    try:
        for kind, original in originals:
            setattr(kind, "__getattr__", tolerant(original))  # noqa: B010 (assignment is refused by the type checker)
        yield
    finally:
        for kind, original in originals:
            setattr(kind, "__getattr__", original)  # noqa: B010


_environment: Any = None


def environment() -> Any:
    """Torchax's environment, made once."""
    global _environment
    if _environment is None:
        with _absent_operators_tolerated():
            torchax = importlib.import_module("torchax")
            _environment = torchax.default_env()
    return _environment


def to_torch(array: Any) -> torch.Tensor:
    """A JAX value as a tensor that PyTorch code can compute with inside the environment."""
    found = environment()
    tensor: torch.Tensor = importlib.import_module("torchax.tensor").Tensor(array, found)
    return tensor


def to_jax(tensor: torch.Tensor) -> Any:
    """The JAX value behind a tensor of the environment."""
    kinds = importlib.import_module("torchax.tensor")
    if isinstance(tensor, kinds.Tensor | kinds.View):
        return tensor.jax()
    return environment().t2j_copy(tensor)
