"""The command line: `python3 -m conformance names|corpus|second|wide|exact|unary --folder FOLDER`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Runs one command."""
    parser = argparse.ArgumentParser(prog="python3 -m conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in [
        ("names", "write which cases there are"),
        ("corpus", "make the cases that are missing"),
        ("second", "add what the specification's interpreter computes"),
        ("wide", "add what XLA computes with every float widened to f64"),
        ("exact", "add what mpmath computes, for programs of one function"),
        ("unary", "compute functions of one number, correctly rounded"),
    ]:
        command = commands.add_parser(name, help=text)
        command.add_argument("--folder", type=Path, required=True, help="where the files are kept")
        command.add_argument("--jobs", type=int, default=2, help="processes at once")
        command.add_argument("--names", type=Path, help="a file with the names of cases or functions, one in a line")
    given = parser.parse_args(arguments)
    names = given.names.read_text().splitlines() if given.names else None
    given.folder.mkdir(parents=True, exist_ok=True)
    # Each command imports what it needs: JAX alone takes seconds.
    if given.command == "names":
        from conformance import corpus

        corpus.write_names(given.folder)
    elif given.command == "corpus":
        from conformance import corpus

        corpus.generate(given.folder, names, given.jobs)
    elif given.command == "second":
        from conformance import second_oracle

        second_oracle.add(given.folder, names)
    elif given.command == "wide":
        from conformance import wide

        wide.add(given.folder, names)
    elif given.command == "exact":
        from conformance import exact

        exact.add(given.folder, names)
    else:
        from conformance import unary

        unary.write(given.folder, names, given.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
