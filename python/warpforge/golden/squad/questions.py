"""A set of questions to train and evaluate on: where it lies, how features are made of it, and on which terms."""

import functools
import hashlib
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from warpforge.export.errors import ExportError
from warpforge.golden.squad import reader, vocabulary, windows

TRAIN = ("train.json", "train-v1.1.json")
DEV = ("dev.json", "dev-v1.1.json")
VOCABULARY = "vocab.txt"
LICENCE = "LICENCE"
KNOWN = {
    (
        "3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955",
        "95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9",
    ): ("squad", "CC-BY-SA-4.0"),
}
"""Name and licence of published sets, by the SHA-256 of their two files."""


@dataclass(frozen=True)
class Questions:
    """What the manifest says under `questions`; the files are where they are now."""

    train: Path
    dev: Path
    vocabulary: Path
    lowercase: bool
    sequence: int
    stride: int
    longest_question: int
    longest_answer: int
    best: int
    dev_questions: int
    """How many questions, from the first on, are evaluated."""

    def check(self) -> None:
        """Refuses numbers that make no sense."""
        least = {"stride": 0, "longest_question": 0, "longest_answer": 1, "best": 1, "dev_questions": 1}
        for name, number in least.items():
            if getattr(self, name) < number:
                raise ExportError(f"{name} is {getattr(self, name)}; it must be at least {number}")

    def copied(self, directory: Path) -> "Questions":
        """The same set as a part of a bundle."""
        folder = directory / "data"
        folder.mkdir()

        def copy(path: Path, name: str) -> Path:
            return Path(shutil.copyfile(path, folder / name))

        return replace(
            self,
            train=copy(self.train, TRAIN[0]),
            dev=copy(self.dev, DEV[0]),
            vocabulary=copy(self.vocabulary, VOCABULARY),
        )

    def manifest(self, directory: Path) -> dict[str, Any]:
        """The field `questions` of a bundle in this directory."""
        content = asdict(self)
        for name in ("train", "dev", "vocabulary"):
            content[name] = getattr(self, name).relative_to(directory).as_posix()
        return content


@dataclass(frozen=True)
class Loaded:
    """Questions with their features."""

    tokenizer: vocabulary.Tokenizer
    questions: int
    """Those to train on."""
    features: list[windows.Window]
    dev: list[reader.Question]
    """Those to evaluate."""
    dev_windows: list[windows.Window]


@functools.lru_cache(maxsize=1)
def load(questions: Questions) -> Loaded:
    """Reads a set and makes its features."""
    questions.check()
    tokenizer = vocabulary.Tokenizer(vocabulary.entries(questions.vocabulary), questions.lowercase)
    train, dev = reader.read(questions.train), reader.read(questions.dev)
    dev = dev[: questions.dev_questions]

    def features(given: list[reader.Question]) -> list[windows.Window]:
        sizes = questions.sequence, questions.stride, questions.longest_question
        return list(windows.windows(given, tokenizer, *sizes))

    return Loaded(tokenizer, len(train), features(train), dev, features(dev))


def find(folder: Path, names: tuple[str, ...]) -> Path:
    """The first of these files that is there."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise ExportError(f"{folder} has no {' or '.join(names)}")


def name_and_licence(questions: Questions, stated: str | None) -> tuple[str, str]:
    """What the set is called and on which terms it comes, as far as that is known."""
    digests = []
    for path in (questions.train, questions.dev):
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    if known := KNOWN.get((digests[0], digests[1])):
        return known
    beside = questions.train.parent / LICENCE
    if stated is None and beside.is_file():
        lines = reader.content_of(beside).splitlines()
        stated = lines[0].strip() if lines else None
    return "given", stated or "unstated"
