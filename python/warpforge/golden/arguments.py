"""What a recipe's command line asks for, as a configuration."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from warpforge.export.command import add_options
from warpforge.export.errors import ExportError
from warpforge.export.recipes.recipe import Recipe
from warpforge.golden import checkpoint as checkpoints
from warpforge.golden import targets
from warpforge.golden.checkpoint import Checkpoint
from warpforge.golden.configuration import Configuration, Optimizer, Schedule
from warpforge.golden.squad import options, questions, vocabulary
from warpforge.golden.workloads import Workload

ALIASES = {"batch": "batch-size", "sequence": "seq"}


def asked(prog: str, name: str, workload: Workload, argv: Sequence[str]) -> tuple[Configuration, Path]:
    """The configuration, and the directory of the bundle."""
    parser = _parser(prog, name, workload)
    arguments = parser.parse_args(argv)
    given = _given(_parser(prog, name, workload), workload, argv)
    checkpoint = _checkpoint(workload, arguments.model)
    sizes: dict[str, int] = dict(workload.models.get(arguments.model, {}))
    if checkpoint:
        sizes = checkpoint.sizes()
        for option, size in sizes.items():
            if given.get(option, size) != size:
                raise ExportError(f"--{option} {given[option]} contradicts {checkpoint.name}, where it is {size}")
    data = getattr(arguments, "data", None)
    if data:
        _fit_vocabulary(data, checkpoint, sizes, given)
    parser.set_defaults(**sizes)
    arguments = parser.parse_args(argv)
    if checkpoint and arguments.sequence > checkpoints.LONGEST:
        raise ExportError(f"{checkpoint.name} takes sequences of at most {checkpoints.LONGEST} tokens")
    more: dict[str, Any] = {"checkpoint": checkpoint, "model": checkpoint.name if checkpoint else arguments.model}
    features = None
    if data:
        if arguments.examples:
            raise ExportError("--examples does not go with --data, which has its own")
        more["questions"], more["data"] = options.asked(arguments, arguments.sequence, checkpoint)
        features = len(questions.load(more["questions"]).features)
    if workload.questions:
        more["targets"] = targets.read(arguments.target, targets.OWN if checkpoint and data else {})
    recipe = workload.recipe(**{each.name: getattr(arguments, each.name) for each in fields(workload.recipe)})
    return configured(name, recipe, arguments, features, more), arguments.out


def _parser(prog: str, name: str, workload: Workload) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"{prog} {name}", description=workload.summary)
    own = parser.add_argument_group("model")
    if workload.questions:
        own.add_argument(
            "--model",
            metavar="NAME",
            help="weights and sizes from a folder in Hugging Face layout, or of this name in the Hugging Face cache;"
            f" without such: the sizes of {' or '.join(workload.models)}, with random weights",
        )
    else:
        parser.set_defaults(model=None)
    add_options(own, workload.recipe, ALIASES)
    if workload.questions:
        options.add(parser)
    add_training(parser, workload)
    return parser


def _given(parser: argparse.ArgumentParser, workload: Workload, argv: Sequence[str]) -> dict[str, Any]:
    """The options of the recipe that stand on the command line."""
    names = [each.name for each in fields(workload.recipe)]
    parser.set_defaults(**dict.fromkeys(names))
    found = vars(parser.parse_args(argv))
    return {name: found[name] for name in names if found[name] is not None}


def _checkpoint(workload: Workload, model: str | None) -> Checkpoint | None:
    if model is None or not workload.questions:
        return None
    found = checkpoints.find(model)
    if found is None and model not in workload.models:
        raise ExportError(
            f"no model `{model}`: neither a folder with a config.json nor in the Hugging Face cache;"
            f" sizes are known of {', '.join(workload.models)}"
        )
    return found


def _fit_vocabulary(data: Path, checkpoint: Checkpoint | None, sizes: dict[str, int], given: Mapping[str, Any]) -> None:
    """Random weights have the size of the vocabulary unless a larger one was asked for."""
    path = options.vocabulary_file(data, checkpoint)
    count = len(vocabulary.entries(path))
    if checkpoint is None:
        sizes["vocabulary"] = count
    size = given.get("vocabulary", sizes["vocabulary"])
    if size < count:
        raise ExportError(f"{path} has {count} entries; a vocabulary of {size} is too small")


def _steps(arguments: argparse.Namespace, batch: int, features: int | None) -> int:
    together = batch * arguments.ranks
    if features is not None and features < together:
        raise ExportError(f"{features} features do not fill one batch of {together} over all ranks")
    if arguments.epochs is None:
        return int(arguments.steps)
    examples = arguments.examples if features is None else features
    if examples < together:
        raise ExportError(f"--epochs needs --examples, at least one batch of {together}")
    return int(arguments.epochs * (examples // together))


def configured(
    name: str, recipe: Recipe, arguments: argparse.Namespace, features: int | None, more: dict[str, Any]
) -> Configuration:
    """The configuration of a recipe, with what the options for training ask for."""
    steps = _steps(arguments, getattr(recipe, "batch", 1), features)
    return Configuration(
        workload=name,
        recipe=recipe,
        schedule=Schedule(arguments.learning_rate, arguments.schedule, arguments.warmup_steps),
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
        **more,
    )


def add_training(parser: argparse.ArgumentParser, workload: Workload) -> None:
    """Adds the options for training and for what is written of it."""
    run = parser.add_argument_group("training")
    run.add_argument("--out", type=Path, required=True, metavar="DIR", help="the bundle's directory, new or empty")
    length = run.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, default=3, help="steps of training (default 3)")
    length.add_argument(
        "--epochs",
        type=int,
        help=f"steps as passes over {'--data or --examples' if workload.questions else '--examples'}",
    )
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
    run.add_argument("--learning-rate", type=float, default=workload.learning_rate, help="(default %(default)s)")
    run.add_argument("--schedule", choices=("constant", "linear"), default="constant", help="(default constant)")
    run.add_argument("--warmup-steps", type=int, default=0, help="(default 0)")
    run.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999), metavar=("B1", "B2"), help="of AdamW")
    run.add_argument("--epsilon", type=float, default=1e-8, help="of AdamW (default 1e-8)")
    run.add_argument("--weight-decay", type=float, default=0.01, help="of AdamW (default 0.01)")
    run.add_argument("--any-versions", action="store_true", help="go on with untested package versions")
