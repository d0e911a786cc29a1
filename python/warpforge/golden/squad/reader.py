"""Questions from a file in the SQuAD v1.1 JSON form; what does not have that form is refused with the place."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpforge.export.errors import ExportError

LARGEST = 1 << 30
"""Bytes of the largest file that is read."""
_KINDS = {str: "text", int: "a whole number", list: "a list"}


@dataclass(frozen=True)
class Answer:
    """An accepted answer, and where it begins in the context, in Unicode code points."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The first code point behind it."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Question:
    """A question about a context."""

    identifier: str
    question: str
    context: str
    answers: tuple[Answer, ...]


def content_of(path: Path) -> str:
    """The text of a file that a stranger may have written."""
    if not path.is_file():
        raise ExportError(f"{path} is missing")
    if path.stat().st_size > LARGEST:
        raise ExportError(f"{path} is larger than 1 GiB")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ExportError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error


def read(path: Path) -> list[Question]:
    """All questions of a file, in its order."""
    try:
        content = json.loads(content_of(path))
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{path} is not JSON: {error}") from error
    return _Reader(path).questions(content)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[Question] = []
        self.misplaced: list[str] = []

    def questions(self, content: object) -> list[Question]:
        for number, article in enumerate(self.field(content, "the file", "data", list)):
            place = f"data[{number}]"
            for inner, paragraph in enumerate(self.field(article, place, "paragraphs", list)):
                self.paragraph(paragraph, f"{place}.paragraphs[{inner}]")
        if self.misplaced:
            raise ExportError(
                f"{self.path}: {len(self.misplaced)} answers are not at their answer_start,"
                f" the first of question {self.misplaced[0]}"
            )
        if not self.found:
            raise ExportError(f"{self.path} has no questions")
        return self.found

    def paragraph(self, paragraph: object, place: str) -> None:
        context = self.field(paragraph, place, "context", str)
        for number, entry in enumerate(self.field(paragraph, place, "qas", list)):
            inner = f"{place}.qas[{number}]"
            identifier = self.field(entry, inner, "id", str)
            question = self.field(entry, inner, "question", str)
            given = self.field(entry, inner, "answers", list)
            if not given:
                raise ExportError(f"{self.path}: {inner} has no answers: in SQuAD v1.1 every question has one")
            answers = [self.answer(each, f"{inner}.answers[{which}]") for which, each in enumerate(given)]
            self.misplaced += [
                identifier for each in answers if each.start < 0 or context[each.start : each.end] != each.text
            ]
            self.found.append(Question(identifier, question, context, tuple(answers)))

    def answer(self, entry: object, place: str) -> Answer:
        text = self.field(entry, place, "text", str)
        if not text:
            raise ExportError(f"{self.path}: {place}.text is empty")
        return Answer(text, self.field(entry, place, "answer_start", int))

    def field(self, holder: object, place: str, name: str, kind: type) -> Any:
        if not isinstance(holder, dict):
            raise ExportError(f"{self.path}: {place} is not an object")
        if name not in holder:
            raise ExportError(f"{self.path}: {place} has no `{name}`")
        value = holder[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ExportError(f"{self.path}: {place}.{name} is not {_KINDS[kind]}")
        if isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value):
            raise ExportError(f"{self.path}: {place}.{name} has half of a surrogate pair, which is no character")
        return value
