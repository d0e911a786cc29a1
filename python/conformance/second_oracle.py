"""The second oracle: the specification's own interpreter, as jaxlib ships it.

It ends the whole process on some programs, so it runs in another one; the case it was at is then noted as the reason
and the next process goes on behind it. `second.jsonl` has a line for each case that was tried.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from conformance import corpus, harnesses, tensor_file
from conformance.tensor_file import Array

SECONDS_PER_CASE = 60


def add(folder: Path, names: Iterable[str] | None) -> None:
    """Evaluates the cases that are there, all or those named, unless they were tried before."""
    chosen = None if names is None else set(names)
    files = {row["name"]: row["file"] for row in corpus.index(folder) if "file" in row}
    notes = folder / "second.jsonl"
    tried = {json.loads(line)["name"] for line in notes.read_text().splitlines()} if notes.exists() else set()
    left = [name for name in files if name not in tried and (chosen is None or name in chosen)]
    with notes.open("a") as output:
        while left:
            for row in _until_it_ends(folder, [(name, files[name]) for name in left]):
                output.write(json.dumps(row) + "\n")
                left.remove(row["name"])
            output.flush()


def _until_it_ends(folder: Path, work: list[tuple[str, str]]) -> Iterable[dict[str, Any]]:
    """The lines of one process; when it ends early, the last one says at which case."""
    command = [sys.executable, "-m", "conformance.second_oracle", str(folder)]
    process = subprocess.Popen(  # noqa: S603  our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for name, file in work:
        corpus.wait_while_paused()
        row = _ask(process.stdin, process.stdout, name, file)
        yield row
        if row.get("reason") == "ended the process":
            break
    process.stdin.close()
    process.wait(SECONDS_PER_CASE)


def _ask(stdin: IO[str], stdout: IO[str], name: str, file: str) -> dict[str, Any]:
    try:
        stdin.write(json.dumps({"name": name, "file": file}) + "\n")
        stdin.flush()
        answer = stdout.readline()
    except BrokenPipeError:
        answer = ""
    if not answer:
        return {"name": name, "reason": "ended the process"}
    row: dict[str, Any] = json.loads(answer)
    return row


def _serve(folder: Path) -> None:
    """Reads cases from the standard input, one in a line, and answers each with a line."""
    harnesses.start_jax()
    for line in sys.stdin:
        work = json.loads(line)
        answer = {"name": work["name"]}
        begin = time.monotonic()
        try:
            outputs = evaluate(folder, work["file"])
            tensors = {f"output.{place}": array for place, array in enumerate(outputs)}
            tensor_file.write(folder / f"{work['file']}.second.safetensors", tensors)
        except Exception as error:
            answer["reason"] = f"{type(error).__name__}: {error}"[:300]
        answer["seconds"] = f"{time.monotonic() - begin:.2f}"
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def evaluate(folder: Path, file: str) -> list[Array]:
    """Runs one case through the interpreter."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    from jaxlib.mlir.passmanager import PassManager

    tensors = tensor_file.read(folder / f"{file}.safetensors")
    with mlir.make_ir_context():
        module = ir.Module.parse((folder / f"{file}.mlir").read_text())
        # It knows nothing of the dialect above the specification's.
        stablehlo.register_stablehlo_passes()
        pipeline = "builtin.module(func.func(chlo-legalize-to-stablehlo))"
        PassManager.parse(pipeline).run(module.operation)
        main = ir.SymbolTable(module.operation)["main"]
        arguments = [attribute(tensors[f"input.{place}"], ty) for place, ty in enumerate(main.type.inputs)]
        return [array(result) for result in stablehlo.eval_module(module, arguments)]


def attribute(content: bytes, ty: Any) -> Any:
    """The bytes of a tensor as a constant of a type."""
    from jaxlib.mlir import ir

    shaped = ir.RankedTensorType(ty)
    element = shaped.element_type
    if element == ir.IntegerType.get_signless(1):
        values = [ir.BoolAttr.get(bool(byte)) for byte in content]
        if not values:
            return ir.Attribute.parse(f"dense<> : {ty}")
        return ir.DenseElementsAttr.get(values, ty)
    text = f'dense<"0x{content.hex().upper()}"> : {ty}' if content else f"dense<> : {ty}"
    return ir.Attribute.parse(text)


def array(result: Any) -> Array:
    """A constant as an array: numbers by their bytes, whatever their type."""
    from jaxlib.mlir import ir

    dense = ir.DenseElementsAttr(result)
    shaped = ir.RankedTensorType(dense.type)
    shape = list(shaped.shape)
    dtype = _dtype(str(shaped.element_type))
    if 0 in shape:
        return np.zeros(shape, dtype)
    # The printed form in hexadecimal digits is the one form that every element type has.
    text = str(dense)
    if 'dense<"0x' in text:
        content = bytes.fromhex(text.split('"0x')[1].split('"')[0])
        values = np.frombuffer(content, dtype)
        return np.broadcast_to(values, shape) if len(values) == 1 else values.reshape(shape)
    body = text[text.index("<") + 1 : text.rindex("> : ")]
    numbers = np.array([_number(word, dtype) for word in _words(body)], dtype)
    return np.broadcast_to(numbers, shape) if len(numbers) == 1 else numbers.reshape(shape)


def _words(body: str) -> list[str]:
    """The elements of the printed form; the two parts of a complex number stay together."""
    flat = body.replace("[", "").replace("]", "")
    if "(" in flat:
        return [word.strip("( ,") for word in flat.split(")") if word.strip("( ,")]
    return [word.strip() for word in flat.split(",")]


def _number(word: str, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "c":
        part = np.dtype(f"float{dtype.itemsize * 4}")
        real, imaginary = (_number(half.strip(), part) for half in word.split(","))
        return complex(real, imaginary)
    if word.startswith("0x"):
        bits = int(word, 16).to_bytes(dtype.itemsize, "little")
        return np.frombuffer(bits, dtype)[0]
    if word in ("true", "false"):
        return word == "true"
    return float(word) if dtype.kind in "fV" else int(word)


def _dtype(element: str) -> np.dtype[Any]:
    import ml_dtypes

    special: dict[str, np.dtype[Any]] = {
        "i1": np.dtype(bool),
        "bf16": np.dtype(ml_dtypes.bfloat16),
        "complex<f32>": np.dtype(np.complex64),
        "complex<f64>": np.dtype(np.complex128),
    }
    if element in special:
        return special[element]
    kind = {"i": "int", "u": "uint", "f": "float"}[element[0]]
    return np.dtype(kind + element.lstrip("uif"))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
