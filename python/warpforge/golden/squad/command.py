"""The command line of `python -m warpforge.golden made-squad`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from warpforge.export import versions
from warpforge.export.command import say
from warpforge.golden.squad import made


def main(prog: str, argv: Sequence[str]) -> int:
    """Writes the set, or the cases that other implementations are tested with."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Makes a small set of questions in the SQuAD v1.1 form; its licence is CC0-1.0."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, metavar="DIR", help="the directory of the set, new or empty")
    what.add_argument(
        "--fixture", type=Path, metavar="FILE", help="write cases with their features, scores and answers instead"
    )
    parser.add_argument("--train", type=int, default=2000, help="questions to train on (default 2000)")
    parser.add_argument("--dev", type=int, default=400, help="questions to evaluate (default 400)")
    parser.add_argument("--seed", type=int, default=0, help="(default 0)")
    arguments = parser.parse_args(argv)
    if arguments.out:
        made.write(arguments.out, arguments.train, arguments.dev, arguments.seed)
        say(f"wrote {arguments.train} and {arguments.dev} questions to {arguments.out}")
        return 0
    versions.check(versions.installed())
    from warpforge.golden.squad import fixture

    fixture.write(arguments.fixture)
    say(f"wrote {arguments.fixture}")
    return 0
