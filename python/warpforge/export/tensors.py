"""Tensors in safetensors files, in the element types the programs use. Nothing here reads or writes pickles."""

import os
from collections.abc import Mapping
from pathlib import Path

import torch

from warpforge.export.errors import ExportError

_NARROW = {
    torch.int64: torch.int32,
    torch.float64: torch.float32,
    torch.uint64: torch.uint32,
    torch.complex128: torch.complex64,
}


def as_in_program(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in the element type the program has for it; an integer that does not fit is refused."""
    content = tensor.detach().cpu()
    kind = _NARROW.get(content.dtype)
    if kind is None:
        return content.clone().contiguous()
    narrow = content.to(kind)
    if not kind.is_floating_point and not kind.is_complex and not torch.equal(narrow.to(content.dtype), content):
        raise ExportError(f"a {content.dtype} tensor holds values outside of {kind}, which the programs use")
    return narrow.contiguous()


def write(path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
    """Writes tensors by name."""
    from safetensors.torch import save_file

    save_file({name: as_in_program(tensor) for name, tensor in tensors.items()}, str(path), metadata=dict(metadata))
    # The library makes its files private; these are as public as the programs beside them.
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
