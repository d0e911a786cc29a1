"""Training in processes of its own, one for each rank; several train together over Gloo, on this machine.

One rank has its own process too: what the exporter imports changes PyTorch for the whole process it is in.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.multiprocessing.spawn import ProcessRaisedException, spawn

from warpforge.export.errors import ExportError
from warpforge.golden.configuration import Configuration
from warpforge.golden.training import Trained, train


def train_apart(configurations: Sequence[Configuration], directory: Path) -> list[list[Trained]]:
    """Trains one configuration after the other and returns what each rank said of each; a failure is the reason."""
    ranks = configurations[0].ranks
    with tempfile.TemporaryDirectory(prefix="warpforge-golden-") as name:
        meeting = Path(name)
        try:
            spawn(_rank, (configurations, directory, meeting), ranks)  # type: ignore[no-untyped-call]
        except ProcessRaisedException as error:
            reason = meeting / "reason"
            raise ExportError(reason.read_text() if reason.exists() else str(error)) from error
        return [
            [Trained.read(_said(meeting, number, rank)) for rank in range(ranks)]
            for number in range(len(configurations))
        ]


def threads(configuration: Configuration) -> int:
    """Threads of each process: those asked for, else PyTorch's own choice; several processes share the processors."""
    if configuration.threads:
        return configuration.threads
    if configuration.ranks > 1:
        return max(1, len(os.sched_getaffinity(0)) // configuration.ranks)
    return torch.get_num_threads()


def _said(meeting: Path, number: int, rank: int) -> Path:
    return meeting / f"run{number}.rank{rank}.json"


def _rank(rank: int, configurations: Sequence[Configuration], directory: Path, meeting: Path) -> None:
    ranks = configurations[0].ranks
    torch.set_num_threads(threads(configurations[0]))
    if ranks > 1:
        store = f"file://{meeting / 'store'}"
        torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=ranks)
    try:
        for number, configuration in enumerate(configurations):
            train(configuration, directory, rank).write(_said(meeting, number, rank))
    except ExportError as error:
        (meeting / "reason").write_text(str(error))
        raise
    finally:
        if ranks > 1:
            torch.distributed.destroy_process_group()
