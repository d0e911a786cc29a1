"""The manifest: what each file of an export is, and the name of every argument, result and traced value.

The field names are a public interface, described in docs/export.md. A change of meaning raises `SCHEMA_VERSION`.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

SCHEMA_VERSION = 1
FORMAT = "warpforge.export"
FILE = "manifest.json"


@dataclass(frozen=True)
class TensorPlace:
    """Where a tensor's content is: a safetensors file beside the manifest, and the key in it."""

    file: str
    key: str


@dataclass(frozen=True)
class Argument:
    """An argument of a program's entry function, in order."""

    index: int
    name: str
    role: str
    shape: list[int]
    dtype: str
    used: bool
    """Whether the program reads it."""
    tensor: TensorPlace | None = None
    initial: float | None = None
    """What every element is at first, for optimizer state and hyperparameters."""


@dataclass(frozen=True)
class Result:
    """A result of a program's entry function, in order."""

    index: int
    name: str
    role: str
    shape: list[int]
    dtype: str
    reference: TensorPlace | None = None
    """What PyTorch computed for it from the same weights and inputs."""


@dataclass(frozen=True)
class ModuleValue:
    """The value in the program that a module returned, or the gradient that reached it."""

    module: str
    call: int
    output: str
    kind: str
    function: str
    value: str


@dataclass(frozen=True)
class Scope:
    """The values that one module computed itself, in one direction, in one function of the program."""

    module: str
    direction: str
    function: str
    values: list[str]


@dataclass(frozen=True)
class ProgramEntry:
    """One program."""

    name: str
    file: str
    sha256: str
    entry: str
    operations: int
    settings: dict[str, object]
    arguments: list[Argument]
    results: list[Result]
    module_values: list[ModuleValue]
    scopes: list[Scope]


@dataclass(frozen=True)
class ModuleEntry:
    """A submodule of the model."""

    name: str
    kind: str


@dataclass(frozen=True)
class ParameterEntry:
    """A parameter or buffer of the model."""

    name: str
    role: str
    shape: list[int]
    dtype: str
    trainable: bool
    aliases: list[str]


@dataclass(frozen=True)
class ModelEntry:
    """What was exported."""

    name: str
    kind: str
    options: dict[str, object]
    seed: int | None
    parameter_count: int
    modules: list[ModuleEntry]
    tensors: list[ParameterEntry]


@dataclass(frozen=True)
class Manifest:
    """The whole manifest."""

    model: ModelEntry
    programs: list[ProgramEntry]
    generator: dict[str, str]
    files: dict[str, str]
    """The safetensors files by content: weights, inputs, reference, exact (the reference in double precision)."""
    format: str = field(default=FORMAT)
    schema_version: int = field(default=SCHEMA_VERSION)

    def to_json(self) -> str:
        """The manifest as it is written; what is absent is left out."""
        content = {"format": self.format, "schema_version": self.schema_version, **_present(asdict(self))}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def write(self, directory: Path) -> Path:
        """Writes the manifest whole or not at all."""
        path = directory / FILE
        partial = directory / f".{FILE}.{os.getpid()}"
        partial.write_text(self.to_json(), encoding="utf-8")
        partial.replace(path)
        return path


def _present(value: object) -> dict[str, object]:
    def clean(inner: object) -> object:
        if isinstance(inner, dict):
            return {key: clean(held) for key, held in inner.items() if held is not None}
        if isinstance(inner, list):
            return [clean(held) for held in inner]
        return inner

    cleaned = clean(value)
    assert isinstance(cleaned, dict), "a manifest is a dictionary"
    return cleaned
