"""Batch normalization in training mode, with its running statistics as values.

PyTorch updates the running statistics inside its kernel, which torchax leaves out. For the time of a trace such layers
compute everything in plain operations, so that the new statistics become results of the program.
"""

import contextlib
import functools
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from warpforge.export import bridge
from warpforge.export.errors import ExportError
from warpforge.export.forwards import Forward, replaced


def explicit(root: nn.Module) -> contextlib.AbstractContextManager[None]:
    """Lets batch normalization layers in training mode compute in plain operations."""
    return replaced(root, _change)


def _change(name: str, module: nn.Module, _forward: Forward) -> Forward | None:
    if not isinstance(module, _BatchNorm) or not module.training:
        return None
    if module.track_running_stats and module.momentum is None:
        raise ExportError(f"{name}: a cumulative average (momentum=None) of running statistics is not supported")
    return functools.partial(_normalize, module)


def _normalize(layer: Any, batch: torch.Tensor) -> torch.Tensor:
    dimensions = [0, *range(2, batch.ndim)]
    count = batch.numel() // batch.shape[1]
    shape = [1, -1, *[1] * (batch.ndim - 2)]
    # Half precision keeps its statistics in single precision, as PyTorch does.
    wide = batch.to(torch.float32) if batch.dtype in (torch.float16, torch.bfloat16) else batch
    mean = wide.mean(dimensions)
    centred = wide - mean.reshape(shape)
    variance = (centred * centred).mean(dimensions)
    if layer.track_running_stats:
        unbiased = variance * (count / max(count - 1, 1))
        _update(layer.running_mean, mean, layer.momentum)
        _update(layer.running_var, unbiased, layer.momentum)
        tracked = bridge.to_jax(layer.num_batches_tracked)
        layer.num_batches_tracked._elem = tracked + 1
    out = centred * torch.rsqrt(variance + layer.eps).reshape(shape)
    if layer.weight is not None:
        out = out * layer.weight.reshape(shape) + layer.bias.reshape(shape)
    return out.to(batch.dtype)


def _update(running: Any, found: torch.Tensor, momentum: float) -> None:
    """Moves a running statistic towards what was found; no gradient flows through it."""
    old = bridge.to_jax(running)
    new = bridge.to_jax(found.detach()).astype(old.dtype)
    running._elem = old * (1.0 - momentum) + new * momentum
