"""The corpus: a folder with an index of cases, made once, by several processes, and continued where it ended.

`names.json` has every case by group. `index.jsonl` has one line per case that was made: its name, group and file, or
why it could not be made. A line is written after the files it speaks of.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from conformance import case, harnesses
from conformance.naming import stem

PROGRESS_SECONDS = 10.0
# Compiled programs stay in memory until they are told to go.
FORGET_AFTER = 200


def index(folder: Path) -> list[dict[str, Any]]:
    """The lines of the index; one that was not finished counts as absent."""
    path = folder / "index.jsonl"
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            rows.append(json.loads(line))
    return rows


def write_names(folder: Path) -> None:
    """Writes which cases there are."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = {name: harness.group_name for name, harness in harnesses.for_cpu().items()}
    unfinished = folder / "names.unfinished"
    unfinished.write_text(json.dumps(groups, indent=0, sort_keys=True))
    unfinished.rename(folder / "names.json")


def generate(folder: Path, names: Iterable[str] | None, jobs: int) -> int:
    """Makes the cases that are missing, all or those named; how many could not be made."""
    groups: dict[str, str] = json.loads((folder / "names.json").read_text())
    wanted = sorted(groups) if names is None else list(names)
    unknown = [name for name in wanted if name not in groups]
    if unknown:
        raise SystemExit(f"no such case: {unknown[0]}")
    done = {row["name"] for row in index(folder)}
    missing = [(folder, name) for name in wanted if name not in done]
    if not missing:
        return 0
    begin = time.monotonic()
    failed = 0
    with (folder / "index.jsonl").open("a") as file:
        rows = _rows(missing, jobs)
        for count, row in enumerate(_with_progress(rows, len(missing), begin), 1):
            failed += "failed" in row
            file.write(json.dumps(row) + "\n")
            if count % 50 == 0:
                file.flush()
    return failed


def _rows(missing: list[tuple[Path, str]], jobs: int) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        yield from map(_make, missing)
        return
    # A process that was forked from one that runs JAX can hang.
    context = multiprocessing.get_context("spawn")
    pool = context.Pool(jobs)
    yield from pool.imap_unordered(_make, missing, chunksize=4)
    # Processes that are told to end in the middle of something say so at length.
    pool.close()
    pool.join()


def _with_progress(rows: Iterator[dict[str, Any]], total: int, begin: float) -> Iterator[dict[str, Any]]:
    shown = begin
    for count, row in enumerate(rows, 1):
        yield row
        now = time.monotonic()
        if now - shown > PROGRESS_SECONDS or count == total:
            shown = now
            sys.stderr.write(f"  {count} of {total} cases, {count / (now - begin):.1f} a second\n")


_harnesses: dict[str, Any] = {}
_made = 0


def _make(work: tuple[Path, str]) -> dict[str, Any]:
    """Makes one case, in a worker; the line of the index."""
    global _made
    folder, name = work
    wait_while_paused()
    if not _harnesses:
        _harnesses.update(harnesses.for_cpu())
    _made += 1
    if _made % FORGET_AFTER == 0:
        import jax

        jax.clear_caches()
    harness = _harnesses[name]
    row: dict[str, Any] = {"name": name, "group": harness.group_name}
    begin = time.monotonic()
    try:
        case.make(name, harness).write(folder, stem(name))
    except Exception as error:
        row["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    else:
        row["file"] = stem(name)
    row["seconds"] = round(time.monotonic() - begin, 3)
    return row


def wait_while_paused() -> None:
    """Waits as long as the file named by CONFORMANCE_PAUSE_FILE is there."""
    path = os.environ.get("CONFORMANCE_PAUSE_FILE")
    while path and Path(path).exists():
        time.sleep(2)
