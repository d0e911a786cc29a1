"""Serialized programs as text: StableHLO portable artifacts, MLIR bytecode, and what `jax.export` serializes."""

from pathlib import Path
from typing import Any

from warpforge.export.errors import ExportError

BYTECODE = b"ML\xefR"
"""How MLIR bytecode starts, portable artifacts included."""

LARGEST_BYTES = 4 << 30


def convert(source: Path, target: Path) -> str:
    """Writes the text of a serialized program and returns which of the forms it was."""
    try:
        size = source.stat().st_size
        if size > LARGEST_BYTES:
            raise ExportError(f"{source} has {size} bytes; more than {LARGEST_BYTES} are not read")
        content = source.read_bytes()
    except OSError as error:
        raise ExportError(f"cannot read {source}: {error.strerror}") from error
    form, text = to_text(content, str(source))
    target.write_text(text, encoding="utf-8")
    return form


def to_text(content: bytes, name: str) -> tuple[str, str]:
    """The form of a serialized program, and its text."""
    if content.startswith(BYTECODE):
        return _from_bytecode(content, name)
    if _is_text(content):
        what = "is text already" if content.strip() else "is empty"
        raise ExportError(f"{name} {what}; expected a portable artifact, MLIR bytecode or a serialized jax.export")
    return "jax.export", _from_jax_export(content, name)


def _is_text(content: bytes) -> bool:
    try:
        start = content[:4096].decode()
    except UnicodeDecodeError:
        return False
    return "\0" not in start


def _from_bytecode(content: bytes, name: str) -> tuple[str, str]:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    # Which program wrote the bytecode stands right after its version.
    portable = b"StableHLO_v" in content[:32]
    context = mlir.make_ir_context()
    with context, ir.Location.unknown():
        try:
            if portable:
                return "a portable artifact", _print(_module(stablehlo.deserialize_portable_artifact(context, content)))
            return "MLIR bytecode", _print(ir.Module.parse(content))
        except Exception as error:
            what = "a portable artifact" if portable else "MLIR bytecode"
            raise ExportError(f"{name} is {what} that this version cannot read: {_short(error)}") from error


def _module(read: Any) -> Any:
    """Some versions return the bytecode of a module instead of a module."""
    from jaxlib.mlir import ir

    return ir.Module.parse(read) if isinstance(read, bytes | str) else read


def _from_jax_export(content: bytes, name: str) -> str:
    from jax import export

    try:
        return str(export.deserialize(bytearray(content)).mlir_module())
    except Exception as error:
        raise ExportError(f"{name} is neither MLIR bytecode nor a serialized jax.export: {_short(error)}") from error


def _print(module: Any) -> str:
    return str(module.operation.get_asm(enable_debug_info=False))


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
