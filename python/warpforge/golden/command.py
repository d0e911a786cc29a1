"""The command line of `python -m warpforge.golden`."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from warpforge.export import versions
from warpforge.export.command import add_options, answered, say
from warpforge.export.errors import ExportError

PROG = "python -m warpforge.golden"
ALIASES = {"batch": "batch-size", "sequence": "seq"}


def main(argv: Sequence[str]) -> int:
    """Runs the command line; 0 when all was written, 2 with a reason otherwise."""
    return answered(lambda: _dispatch(list(argv)))


def _dispatch(argv: list[str]) -> int:
    name = argv[0] if argv and not argv[0].startswith("-") else None
    if name is None:
        general = argparse.ArgumentParser(
            prog=PROG,
            description="Trains a model with plain PyTorch and writes everything it computed as a golden bundle.",
            epilog=f"`{PROG} RECIPE --help` shows the options of a recipe.",
        )
        general.add_argument("recipe", nargs="?", metavar="RECIPE", help="what to train (see --list)")
        general.add_argument("--list", action="store_true", help="list the recipes")
        if not general.parse_args(argv).list:
            general.error("expected a recipe or --list")
    versions.check(versions.installed(), "--any-versions" in argv)
    return _list() if name is None else _make(name, argv[1:])


def _list() -> int:
    from warpforge.golden.workloads import WORKLOADS

    for name, workload in WORKLOADS.items():
        sys.stdout.write(f"{name}: {workload.summary}\n")
        for each in fields(workload.recipe):
            sys.stdout.write(f"    --{each.name.replace('_', '-')} {each.default}   {each.metadata['meaning']}\n")
        if workload.models:
            sys.stdout.write(f"    --model {' | '.join(workload.models)}\n")
    return 0


def _make(name: str, argv: list[str]) -> int:
    from warpforge.golden.workloads import WORKLOADS

    workload = WORKLOADS.get(name)
    if workload is None:
        raise ExportError(f"no recipe `{name}`; the recipes are {', '.join(WORKLOADS)}")
    parser = argparse.ArgumentParser(prog=f"{PROG} {name}", description=workload.summary)
    own = parser.add_argument_group("model")
    own.add_argument(
        "--model", choices=sorted(workload.models) or None, help="the sizes of a published model, with random weights"
    )
    add_options(own, workload.recipe, ALIASES)
    _add_training(parser, workload.learning_rate)
    asked, _ = parser.parse_known_args(argv)
    if asked.model:
        parser.set_defaults(**workload.models[asked.model])
    arguments = parser.parse_args(argv)
    start = time.monotonic()
    from warpforge.golden.bundle import make

    make(_configuration(name, workload.recipe, arguments), arguments.out, say)
    say(f"wrote {arguments.out} in {time.monotonic() - start:.1f} s")
    return 0


def _add_training(parser: argparse.ArgumentParser, rate: float) -> None:
    run = parser.add_argument_group("training")
    run.add_argument("--out", type=Path, required=True, metavar="DIR", help="the bundle's directory, new or empty")
    length = run.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, default=3, help="steps of training (default 3)")
    length.add_argument("--epochs", type=int, help="steps as passes over --examples")
    run.add_argument("--examples", type=int, default=0, help="examples in an epoch (default: every batch is new)")
    run.add_argument(
        "--record", type=int, default=None, help="steps written in full, from the first on (default: all up to 10)"
    )
    run.add_argument("--ranks", type=int, default=1, help="processes that train together over Gloo (default 1)")
    run.add_argument("--seed", type=int, default=0, help="of the initial weights (default 0)")
    run.add_argument("--data-seed", type=int, default=0, help="of the batches (default 0)")
    run.add_argument(
        "--runs", type=int, default=1, help="train so often, each time from other seeds, for free runs (default 1)"
    )
    run.add_argument("--threads", type=int, default=0, help="threads of each process (default: PyTorch's own)")
    run.add_argument("--autocast", choices=("bfloat16", "float16"), help="compute products in this type")
    run.add_argument(
        "--activations",
        default="layers",
        metavar="WHICH",
        help="modules whose outputs are kept: layers, all, none, or patterns (default layers)",
    )
    run.add_argument("--learning-rate", type=float, default=rate, help="(default %(default)s)")
    run.add_argument("--schedule", choices=("constant", "linear"), default="constant", help="(default constant)")
    run.add_argument("--warmup-steps", type=int, default=0, help="(default 0)")
    run.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999), metavar=("B1", "B2"), help="of AdamW")
    run.add_argument("--epsilon", type=float, default=1e-8, help="of AdamW (default 1e-8)")
    run.add_argument("--weight-decay", type=float, default=0.01, help="of AdamW (default 0.01)")
    run.add_argument("--any-versions", action="store_true", help="go on with untested package versions")


def _configuration(name: str, recipe: Any, arguments: argparse.Namespace) -> Any:
    from warpforge.golden.configuration import Configuration, Optimizer, Schedule

    made = recipe(**{each.name: getattr(arguments, each.name) for each in fields(recipe)})
    steps = arguments.steps
    if arguments.epochs is not None:
        together = getattr(made, "batch", 1) * arguments.ranks
        if arguments.examples < together:
            raise ExportError(f"--epochs needs --examples, at least one batch of {together}")
        steps = arguments.epochs * (arguments.examples // together)
    return Configuration(
        workload=name,
        recipe=made,
        schedule=Schedule(arguments.learning_rate, arguments.schedule, arguments.warmup_steps),
        model=arguments.model,
        steps=steps,
        record=min(steps, 10) if arguments.record is None else arguments.record,
        examples=arguments.examples,
        ranks=arguments.ranks,
        runs=arguments.runs,
        seed=arguments.seed,
        data_seed=arguments.data_seed,
        dtype=arguments.dtype,
        autocast=arguments.autocast,
        threads=arguments.threads,
        activations=arguments.activations,
        optimizer=Optimizer(
            beta1=arguments.betas[0],
            beta2=arguments.betas[1],
            epsilon=arguments.epsilon,
            weight_decay=arguments.weight_decay,
        ),
    )
