"""The options of recipes that train on questions."""

import argparse
from pathlib import Path

from warpforge.export.errors import ExportError
from warpforge.golden.checkpoint import Checkpoint
from warpforge.golden.squad import questions, reader, vocabulary
from warpforge.golden.squad.questions import Questions
from warpforge.golden.workloads import Data


def add(parser: argparse.ArgumentParser) -> None:
    """Adds them."""
    group = parser.add_argument_group("questions")
    group.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="train on questions: train.json, dev.json and vocab.txt as SQuAD v1.1 has them (default: random batches)",
    )
    group.add_argument("--data-licence", metavar="TEXT", help="the terms of the data, for the manifest")
    group.add_argument("--stride", type=int, default=128, help="context tokens that windows share (default 128)")
    group.add_argument(
        "--longest-question", type=int, default=64, help="tokens of a question that are kept (default 64)"
    )
    group.add_argument("--longest-answer", type=int, default=30, help="tokens of an answer (default 30)")
    group.add_argument("--best", type=int, default=20, help="starts and ends that are tried in a window (default 20)")
    group.add_argument(
        "--limit-dev", type=int, metavar="N", help="evaluate only the first N questions of dev (default: all)"
    )
    group.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="what the run is expected to reach: f1, exact_match (at least), final_loss, seconds (at most); repeatable",
    )


def vocabulary_file(folder: Path, checkpoint: Checkpoint | None) -> Path:
    """The vocabulary of the data, or else of the checkpoint; two that differ are refused."""
    given = folder / questions.VOCABULARY
    if checkpoint is None:
        return questions.find(folder, (questions.VOCABULARY,))
    of_model = checkpoint.folder / questions.VOCABULARY
    if not given.exists():
        return questions.find(checkpoint.folder, (questions.VOCABULARY,))
    if of_model.exists() and vocabulary.entries(given) != vocabulary.entries(of_model):
        raise ExportError(f"{given} is another vocabulary than {of_model}")
    return given


def asked(arguments: argparse.Namespace, sequence: int, checkpoint: Checkpoint | None) -> tuple[Questions, Data]:
    """The set that was asked for, proved to be sound, and what the manifest says of it."""
    folder: Path = arguments.data
    dev = questions.find(folder, questions.DEV)
    count = len(reader.read(dev))
    wanted = Questions(
        train=questions.find(folder, questions.TRAIN),
        dev=dev,
        vocabulary=vocabulary_file(folder, checkpoint),
        lowercase=checkpoint.lowercase() if checkpoint else True,
        sequence=sequence,
        stride=arguments.stride,
        longest_question=arguments.longest_question,
        longest_answer=arguments.longest_answer,
        best=arguments.best,
        dev_questions=count if arguments.limit_dev is None else min(arguments.limit_dev, count),
    )
    found = questions.load(wanted)
    name, licence = questions.name_and_licence(wanted, arguments.data_licence)
    return wanted, Data(
        name,
        licence,
        f"{found.questions} questions in the SQuAD v1.1 form, {len(found.features)} features;"
        f" {len(found.dev)} questions to evaluate, {len(found.dev_windows)} features",
    )
