"""From a JAX function to StableHLO text, with what its values are called in the model."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jaxlib.mlir import ir

from warpforge.export import probe
from warpforge.export.manifest import ModuleValue, Scope
from warpforge.export.scopes import PREFIX


@dataclass(frozen=True)
class Lowered:
    """A program and the names of its values."""

    text: str
    results: Any
    """The shapes of what it returns, in the structure the function returned them."""
    operations: int
    module_values: list[ModuleValue]
    scopes: list[Scope]


NAME = "warpforge.name"
"""The attribute of an argument or result of the entry function that says what it is called in the model's files."""


INITIAL = "warpforge.initial"
"""The attribute of an argument that says what every element of it is at first, for optimizer state and its rate."""

ALIAS = "tf.aliasing_output"
"""The attribute of an argument that says which result takes its place, as JAX writes it for donated arguments."""


def lower(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    name: str,
    names: Sequence[str] = (),
    roles: Sequence[str] = (),
    initial: Sequence[float | None] = (),
) -> Lowered:
    """Lowers `function` for arguments of these shapes; every argument stays an argument, used or not.

    `names` are those of all arguments, in the order of the text. With `roles`, one per dictionary of arguments, those
    that a result has the role and name of are donated to it. `initial` is what every element of an argument is at
    first.
    """

    def program(*given: Any) -> Any:
        return function(*given)

    program.__name__ = program.__qualname__ = name
    with probe.recording() as found:
        lowered = jax.jit(program, keep_unused=True).lower(*arguments)
    module: Any = lowered.compiler_ir("stablehlo")
    _name(module, names, _result_names(lowered.out_info))
    if roles:
        places = _replaced(arguments, roles, lowered.out_info)
        _add(module, ALIAS, [None if place is None else f"{place} : i32" for place in places])
    if any(value is not None for value in initial):
        _add(module, INITIAL, [None if value is None else f"{value:.17e} : f64" for value in initial])
    text = module.operation.get_asm(enable_debug_info=False)
    walk = _Walk()
    with module.context:
        state = ir.AsmState(module.operation)
        walk.functions(module, state)
        values = [
            ModuleValue(label.module, label.call, label.output, kind, _function_of(value), value.get_name(state))
            for label, kind, value in found.values
        ]
    scopes = [Scope(*key, names) for key, names in walk.scopes.items()]
    return Lowered(text, lowered.out_info, walk.operations, values, scopes)


def _result_names(results: Any) -> list[str]:
    """What the results are called, in the order of the text; one that two roles have is told apart by its role."""
    if not isinstance(results, dict):
        return []
    found = [(role, name) for role, group in results.items() for name in group]
    plain = [name for _, name in found]
    return [name if plain.count(name) == 1 else f"{role}.{name}" for role, name in found]


def _name(module: Any, arguments: Sequence[str], results: Sequence[str]) -> None:
    """Writes the names of arguments and results into the entry function."""
    with module.context:
        for function in module.body:
            attributes = function.operation.attributes
            if ir.StringAttr(attributes["sym_name"]).value != "main":
                continue
            for key, names in (("arg_attrs", arguments), ("res_attrs", results)):
                if names:
                    held = list(attributes[key]) if key in attributes else [ir.DictAttr.get({})] * len(names)
                    if len(held) == len(names):
                        named = [_with_name(one, name) for one, name in zip(held, names, strict=True)]
                        attributes[key] = ir.ArrayAttr.get(named)


def _replaced(arguments: Sequence[Any], roles: Sequence[str], results: Any) -> list[int | None]:
    """For each argument in order the place of the result with the same role and name."""
    places = {key: place for place, key in enumerate((role, name) for role, group in results.items() for name in group)}
    return [places.get((role, name)) for role, group in zip(roles, arguments, strict=True) for name in group]


def _add(module: Any, key: str, values: Sequence[str | None]) -> None:
    """Gives arguments of the entry function an attribute, where there is a value for it."""
    with module.context:
        for function in module.body:
            attributes = function.operation.attributes
            if ir.StringAttr(attributes["sym_name"]).value == "main" and "arg_attrs" in attributes:
                held = list(attributes["arg_attrs"])
                added = [
                    one if value is None else _with(one, key, ir.Attribute.parse(value))
                    for one, value in zip(held, values, strict=True)
                ]
                attributes["arg_attrs"] = ir.ArrayAttr.get(added)


def _with_name(attributes: Any, name: str) -> Any:
    return _with(attributes, NAME, ir.StringAttr.get(name))


def _with(attributes: Any, key: str, value: Any) -> Any:
    held = {entry.name: entry.attr for entry in ir.DictAttr(attributes)}
    return ir.DictAttr.get({**held, key: value})


class _Walk:
    """Goes through all operations once, sorting their results by the module that computed them.

    Values inside an operation's own regions are left out: the text may show such a region without naming them.
    """

    def __init__(self) -> None:
        self.operations = 0
        self.scopes: dict[tuple[str, str, str], list[str]] = {}

    def functions(self, module: Any, state: Any) -> None:
        for function in module.body:
            name = ir.StringAttr(function.operation.attributes["sym_name"]).value
            for region in function.operation.regions:
                for block in region:
                    for operation in block:
                        self._sort(operation.operation, name, state)
            self.operations += _count(function.operation)

    def _sort(self, operation: Any, function: str, state: Any) -> None:
        place = place_of(str(operation.location))
        if place is not None and len(operation.results) > 0:
            names = self.scopes.setdefault((*place, function), [])
            names.extend(result.get_name(state) for result in operation.results)


def _count(operation: Any) -> int:
    """How many operations an operation holds, at any depth."""
    inner = [held.operation for region in operation.regions for block in region for held in block]
    return len(inner) + sum(_count(held) for held in inner)


_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MODULE = re.compile(re.escape(PREFIX) + r"([A-Za-z0-9_.]*)")


def place_of(location: str) -> tuple[str, str] | None:
    """The innermost module in a location's scope names, and whether the operation belongs to the backward direction.

    A location reads like `loc("jit(gradients)/transpose(jvp(module:))/module:layers.0/dot_general"(...))`.
    """
    found = _NAME.search(location)
    if found is None:
        return None
    modules = _MODULE.findall(found.group(1))
    if not modules:
        return None
    return modules[-1], "backward" if "transpose(" in found.group(1) else "forward"


def _function_of(value: Any) -> str:
    """The function that a value is computed in."""
    owner = value.owner
    operation = owner.owner if isinstance(owner, ir.Block) else owner
    while operation is not None:
        if operation.name == "func.func":
            return str(ir.StringAttr(operation.attributes["sym_name"]).value)
        operation = operation.operation.parent
    return ""
