"""A bundle from end to end: training, then the programs, the manifest last: its presence means a whole bundle.

The field names are a public interface, described in docs/golden.md; `schemas/golden.v1.json` has their types.
"""

import dataclasses
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import warpforge
from warpforge.export import versions
from warpforge.export.errors import ExportError
from warpforge.golden import files, parallel, targets
from warpforge.golden.configuration import Configuration
from warpforge.golden.machine import machine
from warpforge.golden.squad.questions import load
from warpforge.golden.training import Trained

FORMAT = "warpforge.golden"
SCHEMA_VERSION = 1


def make(
    configuration: Configuration, directory: Path, say: Callable[[str], None] = lambda _line: None
) -> dict[str, Any]:
    """Trains, exports, and writes the manifest; returns it."""
    configuration.check()
    if directory.exists() and any(directory.iterdir()):
        raise ExportError(f"{directory} is not empty: a bundle needs a directory of its own")
    directory.mkdir(parents=True, exist_ok=True)
    if configuration.questions:
        # From here on only the copies are read: what was trained on is what the bundle holds.
        configuration = dataclasses.replace(configuration, questions=configuration.questions.copied(directory))
        load.cache_clear()
    ranks = f" on {configuration.ranks} ranks" if configuration.ranks > 1 else ""
    say(f"training {configuration.workload} for {configuration.steps} steps{ranks} with PyTorch")
    if configuration.questions:
        say(f"  {configuration.data.description}")
    others = [configuration.of_run(number) for number in range(1, configuration.runs)]
    if others:
        say(f"  and again from {len(others)} other pairs of seeds")
    start = time.monotonic()
    said = parallel.train_apart([configuration, *others], directory)
    seconds = time.monotonic() - start
    trained = said[0]
    curve = _loss_curve(trained)
    say(f"  loss {curve['loss'][0]:.6f} at the first step, {curve['loss'][-1]:.6f} at the last")
    if trained[0].metrics:
        say("  " + ", ".join(f"{name} {value:.4g}" for name, value in trained[0].metrics.items()))
    files.write_json(directory, files.LOSS_CURVE, curve)
    files.write_json(directory, files.METRICS, {"metrics": trained[0].metrics})
    options = _export(configuration, directory, say)
    content = _manifest(configuration, trained, options) | {"seconds": seconds}
    if configuration.questions:
        content["questions"] = configuration.questions.manifest(directory)
    if configuration.targets:
        content["targets"] = dict(configuration.targets)
        reached = {**trained[0].metrics, "final_loss": targets.final_loss(curve["loss"]), "seconds": seconds}
        for line in targets.missed(configuration.targets, reached):
            say(f"  {line}")
    content["runs"] = [_run(configuration, number, ranks) for number, ranks in enumerate(said)]
    content["files"] = files.digests(directory)
    files.write_json(directory, files.MANIFEST, content)
    return content


def _loss_curve(trained: list[Trained]) -> dict[str, Any]:
    steps = range(len(trained[0].loss))
    return {
        "loss": [sum(rank.loss[step] for rank in trained) / len(trained) for step in steps],
        "ranks": [rank.loss for rank in trained],
        "learning_rate": trained[0].learning_rate,
        "seconds": [max(rank.seconds[step] for rank in trained) for step in steps],
    }


def _export(configuration: Configuration, directory: Path, say: Callable[[str], None]) -> Mapping[str, object]:
    """Writes the programs; returns the options of the model."""
    # Only now: what this imports changes how PyTorch finds operators, and training must not know of it.
    from warpforge.export.exporter import Settings, export
    from warpforge.export.optimizers import AdamW

    chosen = configuration.optimizer
    settings = Settings(
        programs=("forward", "gradients", chosen.name),
        adamw=AdamW(chosen.beta1, chosen.beta2, chosen.epsilon, chosen.weight_decay),
        learning_rate=configuration.schedule.learning_rate,
        weights=False,
        inputs=False,
        seed=configuration.seed,
    )
    model = configuration.recipe.build(configuration.seed, getattr(torch, configuration.dtype), weights=False)
    export(model, directory / files.PROGRAMS, settings, say)
    return model.options


def _manifest(configuration: Configuration, trained: list[Trained], options: Mapping[str, object]) -> dict[str, Any]:
    found = {name: version for name, version in versions.installed().items() if version is not None}
    model: dict[str, Any] = {
        "recipe": configuration.workload,
        "options": {**options, "dtype": configuration.dtype},
        "weights": configuration.checkpoint.weights if configuration.checkpoint else configuration.weights,
    }
    if configuration.model:
        model["name"] = configuration.model
    settings: dict[str, Any] = {
        "steps": configuration.steps,
        "recorded_steps": min(configuration.record, configuration.steps),
        "batch_size": configuration.batch_size,
        "examples": configuration.examples,
        "ranks": configuration.ranks,
        "dtype": configuration.dtype,
        "threads": parallel.threads(configuration),
        "schedule": asdict(configuration.schedule),
        "optimizer": asdict(configuration.optimizer),
    }
    if configuration.ranks > 1:
        settings["backend"] = "gloo"
    if configuration.autocast:
        settings["autocast"] = configuration.autocast
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "model": model,
        "configuration": settings,
        "seeds": {"weights": configuration.seed, "data": configuration.data_seed},
        "data": [asdict(configuration.data)],
        "generator": {"warpforge": warpforge.__version__, "python": platform.python_version(), **found},
        "machine": machine(),
        "programs": f"{files.PROGRAMS}/manifest.json",
        "activations": [asdict(each) for each in trained[0].activations],
        "steps": [_step(configuration, trained, step) for step in range(settings["recorded_steps"])],
        "final": trained[0].final,
        "evaluation": {
            "weights": trained[0].final["weights"],
            "inputs": files.EVALUATION_INPUTS,
            "outputs": files.EVALUATION_OUTPUTS,
        },
        "loss_curve": files.LOSS_CURVE,
        "metrics": files.METRICS,
    }


def _run(configuration: Configuration, number: int, trained: list[Trained]) -> dict[str, Any]:
    return {
        "seeds": {"weights": configuration.seed + number, "data": configuration.data_seed + number},
        "initial": files.initial(number),
        "batches": [files.batches(number, rank) for rank in range(configuration.ranks)],
        "batch_count": configuration.batches,
        "loss": _loss_curve(trained)["loss"],
        "metrics": trained[0].metrics,
    }


def _step(configuration: Configuration, trained: list[Trained], step: int) -> dict[str, Any]:
    several = configuration.ranks > 1
    before = {"weights": files.initial(0)}
    if step:
        before = {"weights": files.of_step(step - 1, "weights"), "optimizer": files.of_step(step - 1, "optimizer")}
    ranks = []
    for rank, said in enumerate(trained):
        place = rank if several else None
        ranks.append(
            {
                "loss": said.loss[step],
                "inputs": files.of_step(step, "inputs", place),
                "activations": files.of_step(step, "activations", place),
                "gradients": files.of_step(step, "gradients", place),
            }
        )
    return {
        "index": step,
        "learning_rate": trained[0].learning_rate[step],
        "before": before,
        "ranks": ranks,
        "gradients": files.of_step(step, "gradients"),
        "after": {"weights": files.of_step(step, "weights"), "optimizer": files.of_step(step, "optimizer")},
    }
