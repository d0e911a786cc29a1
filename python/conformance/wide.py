"""The arbiter: the same program with every float widened to f64, computed by XLA.

Where ours and XLA's numbers differ by more than the tolerance, the widened program says which of the two is nearer to
what the program means. It cannot be had where a program looks at the bits of its floats.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from conformance import corpus, harnesses, tensor_file
from conformance.tensor_file import Array

NARROW = r"(?<![A-Za-z_])(?:bf16|f16|f32)(?![A-Za-z0-9_])"
# In `tensor<2x3xf32>` a letter stands before the type.
TYPE = re.compile(rf"(?<=[0-9]x)(?:bf16|f16|f32)(?=[>,])|{NARROW}")
CONSTANT = re.compile(r"dense<([^>]*)>( : tensor<(?:[0-9]+x)*)(bf16|f16|f32|complex<f32>)>")
HEXADECIMAL = re.compile(r"0x[0-9A-Fa-f]+")


def widened(text: str) -> str:
    """The program with f64 in place of every narrower float."""
    return TYPE.sub("f64", CONSTANT.sub(_constant, text))


def _constant(found: re.Match[str]) -> str:
    """A constant whose elements are written as bits has the bits of another type once it is widened."""
    body, between, element = found.groups()
    part = _dtype(element.removeprefix("complex<").removesuffix(">"))

    def wide_bytes(narrow: bytes) -> bytes:
        return np.frombuffer(narrow, part).astype(np.float64).tobytes()

    if body.startswith('"0x'):
        body = f'"0x{wide_bytes(bytes.fromhex(body[3:-1])).hex().upper()}"'
    else:

        def number(word: re.Match[str]) -> str:
            bits = int(word.group(), 16).to_bytes(part.itemsize, "little")
            return f"0x{wide_bytes(bits)[::-1].hex().upper()}"

        body = HEXADECIMAL.sub(number, body)
    return f"dense<{body}>{between}{element}>"


def _dtype(name: str) -> np.dtype[Any]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16) if name == "bf16" else np.dtype(f"float{name[1:]}")


def wide_array(content: bytes, ty: str) -> Array:
    """The bytes of a tensor of a type of a program as an array whose floats are f64."""
    inner = ty.removeprefix("tensor<").removesuffix(">")
    sizes, element = re.fullmatch(r"((?:[0-9]+x)*)(.*)", inner).groups()  # type: ignore[union-attr]
    shape = [int(size) for size in sizes.split("x") if size]
    if element.startswith("complex"):
        part = _dtype(element.removeprefix("complex<").removesuffix(">"))
        return np.frombuffer(content, part).astype(np.float64).view(np.complex128).reshape(shape)
    if element in ("bf16", "f16", "f32", "f64"):
        return np.frombuffer(content, _dtype(element)).astype(np.float64).reshape(shape)
    kind = {"i": "int", "u": "uint"}[element[0]] + element.lstrip("ui")
    return np.frombuffer(content, bool if element == "i1" else np.dtype(kind)).reshape(shape)


def evaluate(folder: Path, file: str) -> list[Array]:
    """Runs one case, widened."""
    import jax
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    text = (folder / f"{file}.mlir").read_text()
    tensors = tensor_file.read(folder / f"{file}.safetensors")
    client = jax.devices()[0].client
    with mlir.make_ir_context():
        types = [str(ty) for ty in ir.SymbolTable(ir.Module.parse(text).operation)["main"].type.inputs]
        module = ir.Module.parse(widened(text))
        executable = client.compile_and_load(
            module,
            executable_devices=_jax.DeviceList((jax.devices()[0],)),
            compile_options=_jax.CompileOptions(),
        )
    arguments = [jax.device_put(wide_array(tensors[f"input.{place}"], ty)) for place, ty in enumerate(types)]
    results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [np.asarray(shards[0]) for shards in results]


def add(folder: Path, names: Iterable[str] | None) -> None:
    """Evaluates the cases named, or all, and writes `<file>.wide.safetensors`; a line says why where it cannot."""
    harnesses.start_jax()
    chosen = None if names is None else set(names)
    for row in corpus.index(folder):
        if "file" not in row or (chosen is not None and row["name"] not in chosen):
            continue
        target = folder / f"{row['file']}.wide.safetensors"
        if target.exists():
            continue
        corpus.wait_while_paused()
        try:
            outputs = evaluate(folder, row["file"])
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:200]}"
            sys.stdout.write(json.dumps({"name": row["name"], "reason": reason}) + "\n")
            continue
        tensor_file.write(target, {f"output.{place}": array for place, array in enumerate(outputs)})
