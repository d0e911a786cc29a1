"""A user's own model, by the name of a function that returns it."""

import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from warpforge.export.errors import ExportError
from warpforge.export.model import Model


def model_from(place: str, options: Sequence[str]) -> Model:
    """Calls `package.module:factory` with the options as keyword arguments."""
    module_name, colon, function_name = place.partition(":")
    if not colon or not module_name or not function_name:
        raise ExportError(f"--module {place}: expected PACKAGE.MODULE:FACTORY")
    try:
        found: Any = importlib.import_module(module_name)
        for part in function_name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ExportError(f"--module {place}: {error}") from error
    keywords = dict(_keyword(option) for option in options)
    returned = found(**keywords)
    model = as_model(returned, place)
    if model.name == "model":
        model.name = function_name
    model.options = {**keywords, **model.options}
    return model


def as_model(returned: Any, place: str) -> Model:
    """What a factory may return: a `Model`, or a module and its inputs, by name or in order."""
    if isinstance(returned, Model):
        return returned
    match returned:
        case (nn.Module() as module, inputs):
            return Model(module, named_inputs(module, inputs))
    raise ExportError(
        f"{place} returned {type(returned).__name__}; expected a warpforge.export.Model"
        " or a pair of module and example inputs"
    )


def named_inputs(module: nn.Module, inputs: Any) -> dict[str, torch.Tensor]:
    """Example inputs by the names of `forward`'s parameters."""
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, Mapping):
        try:
            bound = inspect.signature(module.forward).bind(*inputs)
        except TypeError as error:
            raise ExportError(f"the example inputs do not fit {type(module).__name__}.forward: {error}") from error
        inputs = bound.arguments
    for name, value in inputs.items():
        if not isinstance(value, torch.Tensor):
            raise ExportError(f"example input `{name}` is {type(value).__name__}; expected a tensor")
    return dict(inputs)


def _keyword(option: str) -> tuple[str, Any]:
    key, equals, value = option.partition("=")
    if not equals or not key:
        raise ExportError(f"--option {option}: expected KEY=VALUE")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value
