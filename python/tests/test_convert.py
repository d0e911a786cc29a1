"""Serialized programs become the text that was serialized."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import export as jax_export
from jax._src.interpreters import mlir

from warpforge.export.check import run_text
from warpforge.export.convert import convert, to_text
from warpforge.export.errors import ExportError


def double(x: jax.Array) -> jax.Array:
    return jax.nn.relu(x) * 2


SHAPE = jax.ShapeDtypeStruct((3,), jnp.float32)


def portable_artifact() -> bytes:
    exported = jax_export.export(jax.jit(double))(SHAPE)
    return bytes(exported.mlir_module_serialized)


def bytecode() -> bytes:
    return bytes(mlir.module_to_bytecode(jax.jit(double).lower(SHAPE).compiler_ir("stablehlo")))


def serialized() -> bytes:
    return bytes(jax_export.export(jax.jit(double))(SHAPE).serialize())


@pytest.mark.parametrize(
    ("content", "form"),
    [(portable_artifact(), "a portable artifact"), (bytecode(), "MLIR bytecode"), (serialized(), "jax.export")],
    ids=["portable", "bytecode", "jax.export"],
)
def test_each_form_becomes_text_that_runs(content: bytes, form: str, tmp_path: Path) -> None:
    source, target = tmp_path / "program.bin", tmp_path / "program.mlir"
    source.write_bytes(content)
    assert convert(source, target) == form
    (result,) = run_text(target.read_text(), [jnp.array([-1.0, 0.5, 2.0])])
    assert result.tolist() == [0.0, 1.0, 4.0]


@pytest.mark.parametrize("content", [b"ML\xefR", b"ML\xefR" + bytes(40), b"\xff\xfe" * 20, b"", b"module {}"])
def test_anything_else_is_refused_with_a_reason(content: bytes) -> None:
    with pytest.raises(ExportError, match="the file"):
        to_text(content, "the file")


@pytest.mark.parametrize("length", [5, 50, 500])
def test_cut_off_files_are_refused(length: int) -> None:
    for whole in (portable_artifact(), serialized()):
        with pytest.raises(ExportError):
            to_text(whole[:length], "the file")
