"""Tensors in safetensors files, for every type that JAX has.

The format has no name for complex numbers of 128 bits and for most types narrower than a byte. A complex tensor is
written as floats with one dimension more, and a type without a name as bytes. The program says what the elements are:
a reader needs nothing but the bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NAMES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
}


def encoded(array: Array) -> tuple[str, list[int], bytes]:
    """The name of the type, the shape and the bytes of a tensor."""
    shape = list(array.shape)
    # A tensor without dimensions would become one with one dimension.
    array = np.ascontiguousarray(array).reshape(shape)
    if array.dtype.kind == "c":
        part = np.dtype(f"float{array.dtype.itemsize * 4}")
        return NAMES[part.name], [*shape, 2], array.tobytes()
    return NAMES.get(array.dtype.name, "U8"), shape, array.tobytes()


def write(path: Path, tensors: Mapping[str, Array]) -> None:
    """Writes a file that is there as a whole or not at all."""
    header: dict[str, Any] = {}
    data = []
    offset = 0
    for name, array in tensors.items():
        dtype, shape, content = encoded(array)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(content)]}
        data.append(content)
        offset += len(content)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(b"".join([struct.pack("<Q", len(text)), text, *data]))
    unfinished.rename(path)


def read(path: Path) -> dict[str, bytes]:
    """The bytes of every tensor of a file."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}
