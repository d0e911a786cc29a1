"""The command line of `python -m warpforge.export`."""

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from warpforge.export import versions
from warpforge.export.errors import ExportError

PROG = "python -m warpforge.export"
DTYPES = ("float32", "bfloat16", "float16")


def main(argv: Sequence[str]) -> int:
    """Runs the command line; 0 when all was written, 2 with a reason otherwise."""
    return answered(lambda: _dispatch(list(argv)))


def answered(work: Callable[[], int]) -> int:
    """Does the work and answers what it could not do with a reason and exit code 2."""
    try:
        return work()
    except ExportError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"error: {error.filename or ''}: {error.strerror or error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def _dispatch(argv: list[str]) -> int:
    if argv[:1] == ["convert"]:
        return _convert(argv[1:])
    name = argv[0] if argv and not argv[0].startswith("-") else None
    if name is None and not ({"--list", "--module"} & {word.split("=")[0] for word in argv}):
        # Help must not need the packages of the export.
        _general_parser().parse_args(argv)
        _general_parser().error("expected a recipe, --module or --list")
    versions.check(versions.installed(), "--any-versions" in argv)
    if name is not None:
        return _recipe(name, argv[1:])
    arguments = _general_parser().parse_args(argv)
    return _list(arguments.json) if arguments.list else _module(arguments)


def say(line: str) -> None:
    """A line of progress."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _general_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Writes a PyTorch model as StableHLO programs with a manifest of names.",
        epilog=f"`{PROG} RECIPE --help` shows its options; `{PROG} convert FILE` makes text of a binary program.",
    )
    parser.add_argument("recipe", nargs="?", metavar="RECIPE", help="a workload with random weights (see --list)")
    parser.add_argument("--list", action="store_true", help="list the recipes and their options")
    parser.add_argument("--json", action="store_true", help="list as JSON")
    parser.add_argument("--module", metavar="PACKAGE.MODULE:FACTORY", help="export what your own function returns")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a keyword argument of the factory (repeatable)",
    )
    _add_common(parser, required=False)
    return parser


def _add_common(parser: argparse.ArgumentParser, required: bool) -> None:
    common = parser.add_argument_group("export")
    common.add_argument(
        "--out", type=Path, required=required, metavar="DIR", help="the directory to write, made if missing"
    )
    common.add_argument("--seed", type=int, default=0, help="for weights and inputs (default 0)")
    common.add_argument(
        "--programs",
        default="forward,gradients,sgd,adamw",
        metavar="LIST",
        help="which programs, comma-separated; there are also train-sgd and train-adamw, each a whole step"
        " (default: %(default)s)",
    )
    common.add_argument(
        "--gradient-mode",
        choices=("train", "eval"),
        default="train",
        help="the module's mode while gradients are taken (default train)",
    )
    common.add_argument(
        "--no-weights", action="store_true", help="write no weights; a recipe's are then never allocated"
    )
    common.add_argument("--no-inputs", action="store_true", help="write no example inputs")
    common.add_argument(
        "--reference", action="store_true", help="also write what PyTorch computes from the same tensors"
    )
    common.add_argument(
        "--reference-double",
        action="store_true",
        help="also write what PyTorch computes from them in double precision",
    )
    common.add_argument(
        "--check",
        action="store_true",
        help="run the written programs with XLA and compare with PyTorch (implies --reference)",
    )
    common.add_argument("--any-versions", action="store_true", help="go on with untested package versions")
    optimizer = parser.add_argument_group("optimizer programs")
    optimizer.add_argument(
        "--learning-rate",
        type=float,
        default=1e-3,
        help="initial value noted in the manifest (default 0.001)",
    )
    optimizer.add_argument("--momentum", type=float, default=0.9, help="of SGD (default 0.9)")
    optimizer.add_argument("--nesterov", action="store_true", help="SGD with Nesterov momentum")
    optimizer.add_argument("--sgd-weight-decay", type=float, default=0.0, help="(default 0)")
    optimizer.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999), metavar=("B1", "B2"), help="of AdamW")
    optimizer.add_argument("--epsilon", type=float, default=1e-8, help="of AdamW (default 1e-8)")
    optimizer.add_argument("--adamw-weight-decay", type=float, default=0.01, help="(default 0.01)")


def add_options(group: Any, kind: Any, aliases: Mapping[str, str] | None = None) -> None:
    """The options of a recipe, some under a second name, and the element type."""
    for each in fields(kind):
        default = each.default if each.default is not MISSING else None
        names = [each.name.replace("_", "-"), *([aliases[each.name]] if aliases and each.name in aliases else [])]
        group.add_argument(
            *(f"--{name}" for name in names),
            dest=each.name,
            type=type(default),
            default=default,
            choices=each.metadata["choices"],
            help=f"{each.metadata['meaning']} (default %(default)s)",
        )
    group.add_argument(
        "--dtype",
        choices=DTYPES,
        default="float32",
        help="of weights and floating-point inputs (default float32)",
    )


def _recipe(name: str, argv: list[str]) -> int:
    import torch

    from warpforge.export.recipes import RECIPES

    kind = RECIPES.get(name)
    if kind is None:
        raise ExportError(f"no recipe `{name}`; the recipes are {', '.join(RECIPES)}")
    parser = argparse.ArgumentParser(prog=f"{PROG} {name}", description=kind.summary)
    own = parser.add_argument_group("model")
    add_options(own, kind)
    _add_common(parser, required=True)
    arguments = parser.parse_args(argv)
    recipe = kind(**{each.name: getattr(arguments, each.name) for each in fields(kind)})
    needed = not arguments.no_weights or arguments.reference or arguments.reference_double or arguments.check
    model = recipe.build(arguments.seed, getattr(torch, arguments.dtype), weights=needed)
    return _export(model, arguments)


def _module(arguments: argparse.Namespace) -> int:
    import torch

    from warpforge.export.factory import model_from

    if arguments.out is None:
        raise ExportError("--out DIR is missing")
    torch.manual_seed(arguments.seed)
    # A script's directory is searched when Python runs it; the same is expected of a module named here.
    sys.path.insert(0, str(Path.cwd()))
    return _export(model_from(arguments.module, arguments.option), arguments)


def _export(model: Any, arguments: argparse.Namespace) -> int:
    from warpforge.export.check import check
    from warpforge.export.exporter import Settings, export
    from warpforge.export.optimizers import AdamW, Sgd

    start = time.monotonic()
    settings = Settings(
        programs=[name.strip() for name in arguments.programs.split(",") if name.strip()],
        gradient_mode=arguments.gradient_mode,
        sgd=Sgd(arguments.momentum, arguments.sgd_weight_decay, arguments.nesterov),
        adamw=AdamW(arguments.betas[0], arguments.betas[1], arguments.epsilon, arguments.adamw_weight_decay),
        learning_rate=arguments.learning_rate,
        weights=not arguments.no_weights,
        inputs=not arguments.no_inputs,
        reference=arguments.reference or arguments.check,
        exact=arguments.reference_double,
        seed=arguments.seed,
    )
    if arguments.check and not (settings.weights and settings.inputs):
        raise ExportError("--check runs the written files: it needs the weights and the inputs")
    export(model, arguments.out, settings, say)
    if arguments.check:
        say("running the programs with XLA")
        found = check(arguments.out)
        worst = max(found, key=lambda each: each.relative)
        say(
            f"  {len(found)} results agree with PyTorch; the largest difference is {worst.relative:.1e}"
            f" of its largest value ({worst.program}: {worst.role} {worst.name})"
        )
    say(f"wrote {arguments.out} in {time.monotonic() - start:.1f} s")
    return 0


def _list(as_json: bool) -> int:
    from warpforge.export.recipes import RECIPES

    listed: list[dict[str, Any]] = [
        {
            "name": name,
            "summary": kind.summary,
            "options": [
                {
                    "name": each.name.replace("_", "-"),
                    "default": each.default,
                    "meaning": each.metadata["meaning"],
                }
                for each in fields(kind)
            ],
        }
        for name, kind in RECIPES.items()
    ]
    if as_json:
        sys.stdout.write(json.dumps(listed, indent=1) + "\n")
        return 0
    for recipe in listed:
        sys.stdout.write(f"{recipe['name']}: {recipe['summary']}\n")
        for each in recipe["options"]:
            sys.stdout.write(f"    --{each['name']} {each['default']}   {each['meaning']}\n")
    return 0


def _convert(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=f"{PROG} convert",
        description="Turns a portable artifact, MLIR bytecode or a serialized jax.export into StableHLO text.",
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where the text goes (default: beside it, ending in .mlir)"
    )
    arguments = parser.parse_args(argv)
    versions.check({name: versions.installed()[name] for name in ("jax", "jaxlib")}, any_versions=True)
    convert = importlib.import_module("warpforge.export.convert").convert
    target = arguments.out or arguments.file.with_suffix(".mlir")
    form = convert(arguments.file, target)
    say(f"{arguments.file} is {form}; wrote {target}")
    return 0
