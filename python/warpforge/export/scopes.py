"""Tells JAX which module is being called, while a module is traced.

Every submodule's `forward` is wrapped for the time of a trace: a named scope around it gives each operation the
module's name in its location, and a probe on what it returns names that value.
"""

import contextlib
import functools
from typing import Any

import jax
import torch
from torch import nn

from warpforge.export import bridge, probe
from warpforge.export.forwards import Forward, replaced
from warpforge.export.outputs import replace

PREFIX = "module:"
"""What a scope's name starts with; the rest is the module's path, empty for the whole model."""


def named(root: nn.Module) -> contextlib.AbstractContextManager[None]:
    """Names scopes and outputs of every submodule of `root`."""
    return replaced(root, lambda name, _module, forward: _traced(name, forward))


def _traced(name: str, forward: Forward) -> Forward:
    calls = 0

    @functools.wraps(forward)
    def call(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        this, calls = calls, calls + 1
        with jax.named_scope(PREFIX + name):
            result = forward(*arguments, **keywords)
        return replace(result, functools.partial(_mark, name, this))

    return call


def _mark(name: str, call: int, path: str, tensor: torch.Tensor) -> torch.Tensor:
    array = bridge.to_jax(tensor)
    if not probe.is_traced(array):
        return tensor
    return bridge.to_torch(probe.mark(array, probe.Label(name, call, path)))
