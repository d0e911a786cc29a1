"""A module as a pure JAX function of its parameters, buffers and inputs.

The module itself is never changed for longer than a trace: its tensors are swapped for traced ones and put back.
"""

import contextlib
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import torch
from torch.nn.utils import stateless

from warpforge.export import batch_norm, bridge, outputs, scopes
from warpforge.export.errors import ExportError
from warpforge.export.model import Model
from warpforge.export.state import State

Arrays = OrderedDict[str, Any]
"""By name, in the order in which programs take and return them (JAX keeps an OrderedDict's order)."""


@dataclass(frozen=True)
class Traced:
    """What one traced call gave."""

    outputs: Arrays
    loss: Any
    buffers: Arrays
    """Buffers with a new value, such as running statistics."""


def call(
    model: Model,
    state: State,
    parameters: Mapping[str, Any],
    buffers: Mapping[str, Any],
    inputs: Mapping[str, Any],
    targets: Mapping[str, Any] | None = None,
) -> Traced:
    """Calls the module, and the loss when there are targets, on JAX values."""
    environment = bridge.environment()
    tensors = {name: bridge.to_torch(array) for name, array in (*parameters.items(), *buffers.items())}
    given = {name: tensors[name] for name in buffers}
    before = {name: tensors[name]._elem for name in buffers}  # type: ignore[attr-defined]
    for name, others in state.aliases.items():
        tensors.update((other, tensors[name]) for other in others)
    key = environment.prng_key
    with contextlib.ExitStack() as stack:
        stack.enter_context(_actionable())
        # A key that was drawn from belongs to this trace and must not reach the next one.
        stack.callback(setattr, environment.param, "prng", key)
        stack.enter_context(warnings.catch_warnings())
        # 64-bit types become 32-bit ones: documented, and said once there instead of at each operation.
        warnings.filterwarnings("ignore", message="Explicitly requested dtype")
        stack.enter_context(environment)
        stack.enter_context(torch.device("jax"))
        stack.enter_context(stateless._reparametrize_module(model.module, tensors))
        stack.enter_context(batch_norm.explicit(model.module))
        stack.enter_context(scopes.named(model.module))
        returned = model.module(**{name: bridge.to_torch(array) for name, array in inputs.items()})
        found = outputs.flatten(returned)
        loss = None
        if targets is not None:
            assert model.loss is not None, "a loss is asked for only where there is one"
            with jax.named_scope("loss"):
                scalar = model.loss(returned, {name: bridge.to_torch(array) for name, array in targets.items()})
            loss = bridge.to_jax(scalar)
        if environment.prng_key is not key:
            raise ExportError(
                "the model draws random numbers while it is traced (dropout?): they would be the same in every run of"
                " the program; set dropout to 0 or export in evaluation mode"
            )
    changed = {name: tensor._elem for name, tensor in given.items() if tensor._elem is not before[name]}  # type: ignore[attr-defined]
    return Traced(
        outputs=OrderedDict((name or "output", bridge.to_jax(tensor)) for name, tensor in found.items()),
        loss=loss,
        buffers=OrderedDict(changed),
    )


@contextlib.contextmanager
def _actionable() -> Iterator[None]:
    """Puts what torchax and JAX say about an untraceable model into words about the model."""
    try:
        yield
    except ExportError:
        raise
    except jax.errors.ConcretizationTypeError as error:
        raise ExportError(
            "the model decides by a tensor's value while it is traced, which a fixed program cannot do:"
            f" {_first_line(error)}"
        ) from error
    except AssertionError as error:
        if "mixed math" not in str(error):
            raise
        raise ExportError(
            "the model computes with a tensor that is neither parameter, buffer nor input (made outside of `forward`?);"
            " register it as a buffer"
        ) from error
    except Exception as error:
        if type(error).__name__ != "OperatorNotFound":
            raise
        raise ExportError(f"torchax cannot lower this model: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
