"""The command line of `python -m warpforge.golden`."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from warpforge.export import versions
from warpforge.export.command import answered, say
from warpforge.export.errors import ExportError

if TYPE_CHECKING:
    from warpforge.golden.configuration import Configuration

PROG = "python -m warpforge.golden"


def main(argv: Sequence[str]) -> int:
    """Runs the command line; 0 when all was written, 2 with a reason otherwise."""
    return answered(lambda: _dispatch(list(argv)))


def _dispatch(argv: list[str]) -> int:
    name = argv[0] if argv and not argv[0].startswith("-") else None
    own = name is None and any(word.split("=")[0] == "--module" for word in argv)
    if name is None and not own:
        general = argparse.ArgumentParser(
            prog=PROG,
            description="Trains a model with plain PyTorch and writes everything it computed as a golden bundle.",
            epilog=f"`{PROG} RECIPE --help` shows the options of a recipe;"
            f" `{PROG} --module PACKAGE.MODULE:FACTORY --help` those for a model of your own;"
            f" `{PROG} made-squad --out DIR` makes a small set of questions to train on.",
        )
        general.add_argument("recipe", nargs="?", metavar="RECIPE", help="what to train (see --list)")
        general.add_argument("--list", action="store_true", help="list the recipes")
        general.add_argument("--module", metavar="PACKAGE.MODULE:FACTORY", help="train what your own function returns")
        if not general.parse_args(argv).list:
            general.error("expected a recipe, --module or --list")
    if name == "made-squad":
        from warpforge.golden.squad.command import main as made

        return made(f"{PROG} {name}", argv[1:])
    versions.check(versions.installed(), "--any-versions" in argv)
    if own:
        from warpforge.golden.own import asked

        return _make(*asked(PROG, argv))
    return _list() if name is None else _recipe(name, argv[1:])


def _list() -> int:
    from warpforge.golden.workloads import WORKLOADS

    for name, workload in WORKLOADS.items():
        sys.stdout.write(f"{name}: {workload.summary}\n")
        for each in fields(workload.recipe):
            sys.stdout.write(f"    --{each.name.replace('_', '-')} {each.default}   {each.metadata['meaning']}\n")
        if workload.models:
            names = " | ".join(workload.models)
            sys.stdout.write(f"    --model {names}{' | DIR' if workload.questions else ''}\n")
    return 0


def _recipe(name: str, argv: list[str]) -> int:
    from warpforge.golden.arguments import asked
    from warpforge.golden.workloads import WORKLOADS

    workload = WORKLOADS.get(name)
    if workload is None:
        raise ExportError(f"no recipe `{name}`; the recipes are {', '.join(WORKLOADS)}")
    return _make(*asked(PROG, name, workload, argv))


def _make(configuration: "Configuration", directory: Path) -> int:
    from warpforge.golden.bundle import make

    start = time.monotonic()
    make(configuration, directory, say)
    say(f"wrote {directory} in {time.monotonic() - start:.1f} s")
    return 0
