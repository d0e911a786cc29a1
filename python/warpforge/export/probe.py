"""Names for values of a lowered program, without changing the program.

A probe is a JAX primitive that returns its operand. It lowers to no operation at all; when it is lowered, it notes
which MLIR value it stands for. Its transpose is a probe too, so the gradient that flows into a module's output gets a
name as well. Notes are kept only while a `recording` is open.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, mlir


@dataclass(frozen=True)
class Label:
    """Which value of the model a probe marks."""

    module: str
    call: int
    """From 0: a module may be called more than once."""
    output: str
    """Which part of what the module returned; empty when it returned one tensor."""


@dataclass
class Recording:
    """The MLIR values that probes stood for during one lowering."""

    values: list[tuple[Label, str, Any]] = field(default_factory=list)


_recording: Recording | None = None

_probe = Primitive("warpforge_probe")


def mark(array: Any, label: Label) -> Any:
    """The same value, with a name."""
    return _probe.bind(array, label=label, kind="value")


@contextlib.contextmanager
def recording() -> Iterator[Recording]:
    """Keeps the notes of all probes that are lowered inside."""
    global _recording
    outer, _recording = _recording, Recording()
    try:
        yield _recording
    finally:
        _recording = outer


def _lower(_context: Any, operand: Any, *, label: Label, kind: str) -> Any:
    if _recording is not None and kind != "tangent":
        _recording.values.append((label, kind, operand))
    return [operand]


def _differentiate(primals: Any, tangents: Any, *, label: Label, kind: str) -> Any:
    (primal,), (tangent,) = primals, tangents
    out = _probe.bind(primal, label=label, kind=kind)
    if type(tangent) is ad.Zero:
        return out, tangent
    return out, _probe.bind(tangent, label=label, kind="tangent")


def _transpose(cotangent: Any, _operand: Any, *, label: Label, **_rest: Any) -> Any:
    if type(cotangent) is ad.Zero:
        return [cotangent]
    return [_probe.bind(cotangent, label=label, kind="gradient")]


_probe.def_impl(lambda array, **_rest: array)
_probe.def_abstract_eval(lambda aval, **_rest: aval)
ad.primitive_jvps[_probe] = _differentiate
ad.primitive_transposes[_probe] = _transpose
# A cached lowering would be copied to a second place without a second note.
mlir.register_lowering(_probe, _lower, cacheable=False)


def is_traced(array: Any) -> bool:
    """Whether a value is being traced, so that it will be lowered."""
    return isinstance(array, jax.core.Tracer)
