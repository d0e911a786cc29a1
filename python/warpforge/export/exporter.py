"""An export from end to end: programs, tensors, and the manifest last, so that its presence means a whole export."""

import hashlib
import platform
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

import warpforge
from warpforge.export import lower, manifest, programs, reference, tensors, versions
from warpforge.export.errors import ExportError
from warpforge.export.functional import Arrays
from warpforge.export.model import Model
from warpforge.export.optimizers import AdamW, Sgd
from warpforge.export.programs import Group, Program
from warpforge.export.state import State, state_of

PROGRAMS = ("forward", "gradients", "sgd", "adamw", "train-sgd", "train-adamw")
DEFAULT_PROGRAMS = PROGRAMS[:4]

WEIGHTS = "weights.safetensors"
INPUTS = "inputs.safetensors"
REFERENCE = "reference.safetensors"
EXACT = "exact.safetensors"


@dataclass(frozen=True)
class Settings:
    """What to export and how."""

    programs: Sequence[str] = DEFAULT_PROGRAMS
    gradient_mode: str = "train"
    sgd: Sgd = field(default_factory=Sgd)
    adamw: AdamW = field(default_factory=AdamW)
    learning_rate: float = 1e-3
    weights: bool = True
    inputs: bool = True
    reference: bool = False
    """Also write what PyTorch computes."""
    exact: bool = False
    """Also write what PyTorch computes in double precision."""
    seed: int | None = None


def export(
    model: Model,
    directory: Path,
    settings: Settings | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> manifest.Manifest:
    """Writes the programs of a model, its tensors and the manifest into a directory, and returns the manifest."""
    settings = settings or Settings()
    _check(model, settings)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / manifest.FILE).unlink(missing_ok=True)
    state = state_of(model.module)
    expected = _write_tensors(model, state, directory, settings, say)
    entries = []
    for name in _chosen(model, state, settings, say):
        say(f"lowering {name}")
        program = _program(name, model, state, settings)
        entries.append(_write_program(program, directory, settings, expected))
        entry = entries[-1]
        counts = f"{len(entry.arguments)} arguments, {len(entry.results)} results"
        say(f"  {entry.file}: {entry.operations} operations, {counts}")
    model.module.eval()
    found = {name: version for name, version in versions.installed().items() if version is not None}
    whole = manifest.Manifest(
        model=_model_entry(model, state, settings.seed),
        programs=entries,
        generator={"warpforge": warpforge.__version__, "python": platform.python_version(), **found},
        files={
            content: file
            for content, file, written in (
                ("weights", WEIGHTS, settings.weights),
                ("inputs", INPUTS, settings.inputs),
                ("reference", REFERENCE, settings.reference),
                ("exact", EXACT, settings.exact),
            )
            if written
        },
    )
    whole.write(directory)
    return whole


def _check(model: Model, settings: Settings) -> None:
    unknown = [name for name in settings.programs if name not in PROGRAMS]
    if unknown:
        raise ExportError(f"no program `{unknown[0]}`; the programs are {', '.join(PROGRAMS)}")
    if not model.inputs:
        raise ExportError("the model has no example inputs")
    held = [*model.module.parameters(), *model.module.buffers()]
    if any(tensor.is_meta for tensor in held) and (settings.weights or settings.reference or settings.exact):
        raise ExportError("the model's weights have no content (meta device): export without weights and reference")


def _chosen(model: Model, state: State, settings: Settings, say: Callable[[str], None]) -> list[str]:
    chosen = []
    for name in settings.programs:
        if name not in ("forward", "sgd", "adamw") and model.loss is None:
            say(f"{name} is left out: the model has no loss")
        elif name != "forward" and not state.trainable:
            say(f"{name} is left out: no parameter is trainable")
        else:
            chosen.append(name)
    return chosen


def _program(name: str, model: Model, state: State, settings: Settings) -> Program:
    if name == "forward":
        return programs.forward(model, state)
    if name == "gradients":
        return programs.gradients(model, state, settings.gradient_mode)
    shapes = Arrays((key, programs.shape_of(state.parameters[key])) for key in state.trainable)
    update = (settings.sgd if name.endswith("sgd") else settings.adamw).program(shapes)
    if name.startswith("train-"):
        return programs.training(name, model, state, settings.gradient_mode, update)
    return update


def _write_tensors(
    model: Model, state: State, directory: Path, settings: Settings, say: Callable[[str], None]
) -> set[str]:
    """Writes what was asked for and returns the keys of the reference."""
    # One entry only: the file has no order for several, and the same export must give the same bytes.
    about = {"format": "pt"}
    if settings.weights:
        say(f"writing {WEIGHTS}")
        tensors.write(directory / WEIGHTS, {**state.parameters, **state.buffers}, about)
    if settings.inputs:
        given = {f"input.{name}": tensor for name, tensor in model.inputs.items()}
        given |= {f"target.{name}": tensor for name, tensor in model.targets.items()}
        tensors.write(directory / INPUTS, given, about)
    expected: dict[str, torch.Tensor] = {}
    if settings.reference:
        say(f"writing {REFERENCE}: what PyTorch computes")
        expected = _expected(model, state, settings)
        tensors.write(directory / REFERENCE, expected, about)
    if settings.exact:
        say(f"writing {EXACT}: what PyTorch computes in double precision")
        double = reference.double(model)
        tensors.write(directory / EXACT, _expected(double, state_of(double.module), settings), about)
    return set(expected)


def _expected(model: Model, state: State, settings: Settings) -> dict[str, torch.Tensor]:
    """What PyTorch computes for the results of the programs."""
    expected: dict[str, torch.Tensor] = {}
    if "forward" in settings.programs:
        expected |= {f"forward.output.{name}": tensor for name, tensor in reference.forward(model).items()}
    if "gradients" in settings.programs and model.loss is not None:
        loss, found, buffers = reference.gradients(model, state, settings.gradient_mode)
        expected["gradients.loss.loss"] = loss
        expected |= {f"gradients.gradient.{name}": tensor for name, tensor in found.items()}
        expected |= {f"gradients.buffer.{name}": tensor for name, tensor in buffers.items()}
    for name in settings.programs:
        if name.startswith("train-") and model.loss is not None:
            optimizer = settings.sgd if name.endswith("sgd") else settings.adamw
            values = reference.training(model, state, settings.gradient_mode, optimizer, settings.learning_rate)
            expected |= {f"{name}.{key}": tensor for key, tensor in values.items()}
    return expected


def _write_program(program: Program, directory: Path, settings: Settings, expected: set[str]) -> manifest.ProgramEntry:
    names = [_key(role, name) for role, group in program.arguments for name in group]
    roles = [role for role, _ in program.arguments] if program.donated else []
    groups = [group for _, group in program.arguments]
    initial = [_initial(role, settings) for role, group in program.arguments for _ in group]
    lowered = lower.lower(program.function, groups, program.name.replace("-", "_"), names, roles, initial)
    file = f"{program.name}.mlir"
    content = lowered.text.encode()
    (directory / file).write_bytes(content)
    return manifest.ProgramEntry(
        name=program.name,
        file=file,
        sha256=hashlib.sha256(content).hexdigest(),
        entry="main",
        operations=lowered.operations,
        settings=program.settings,
        arguments=_arguments(program, lowered.text, settings),
        results=_results(program.name, list(lowered.results.items()), expected),
        module_values=lowered.module_values,
        scopes=lowered.scopes,
    )


def _initial(role: str, settings: Settings) -> float | None:
    """What every element of an argument is at first, where no file says it."""
    return {"state": 0.0, "hyperparameter": settings.learning_rate}.get(role)


def _key(role: str, name: str) -> str:
    """What an argument is called in the files of tensors."""
    return f"{role}.{name}" if role in ("input", "target") else name


def _arguments(program: Program, text: str, settings: Settings) -> list[manifest.Argument]:
    # Once in the entry function's own line means: never read.
    entry = text[text.index("@main") :]
    end = re.search(r"^  }$", entry, re.MULTILINE)
    seen = OrderedDict[str, int]()
    for name in re.findall(r"%arg(\d+)\b", entry[: end.start()] if end else entry):
        seen[name] = seen.get(name, 0) + 1
    found: list[manifest.Argument] = []
    for role, group in program.arguments:
        for name, shape in group.items():
            place = None
            if role in ("parameter", "buffer") and settings.weights:
                place = manifest.TensorPlace(WEIGHTS, name)
            elif role in ("input", "target") and settings.inputs:
                place = manifest.TensorPlace(INPUTS, _key(role, name))
            initial = _initial(role, settings)
            index = len(found)
            used = seen.get(str(index), 0) > 1
            kind = programs.dtype_name(shape.dtype)
            found.append(manifest.Argument(index, name, role, list(shape.shape), kind, used, place, initial))
    return found


def _results(program: str, groups: Sequence[Group], expected: set[str]) -> list[manifest.Result]:
    found: list[manifest.Result] = []
    for role, group in groups:
        for name, shape in group.items():
            key = f"{program}.{role}.{name}"
            place = manifest.TensorPlace(REFERENCE, key) if key in expected else None
            kind = programs.dtype_name(shape.dtype)
            found.append(manifest.Result(len(found), name, role, list(shape.shape), kind, place))
    return found


def _model_entry(model: Model, state: State, seed: int | None) -> manifest.ModelEntry:
    kind = type(model.module)
    trainable = set(state.trainable)
    groups = (("parameter", state.parameters), ("buffer", state.buffers))
    held = [
        manifest.ParameterEntry(
            name,
            role,
            list(tensor.shape),
            programs.dtype_name(programs.shape_of(tensor).dtype),
            name in trainable,
            state.aliases.get(name, []),
        )
        for role, group in groups
        for name, tensor in group.items()
    ]
    return manifest.ModelEntry(
        name=model.name,
        kind=f"{kind.__module__}.{kind.__qualname__}",
        options=dict(model.options),
        seed=seed,
        parameter_count=sum(tensor.numel() for tensor in state.parameters.values()),
        modules=[manifest.ModuleEntry(name, type(inner).__name__) for name, inner in model.module.named_modules()],
        tensors=held,
    )
