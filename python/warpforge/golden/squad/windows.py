"""Features: a question and as much of its context as fits, in windows that overlap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpforge.export.errors import ExportError
from warpforge.golden.squad.reader import Answer, Question
from warpforge.golden.squad.vocabulary import Tokenizer, Tokens


@dataclass(frozen=True)
class Window:
    """One feature: `[CLS] question [SEP] part of the context [SEP]`, and the labels of the first answer."""

    number: int
    """Of the question in its file."""
    question: list[int]
    context: list[int]
    offsets: list[tuple[int, int]]
    """Code points of the whole context, of each token in `context`."""
    start: int
    end: int

    @property
    def first(self) -> int:
        """The position of the first context token."""
        return len(self.question) + 2


@dataclass(frozen=True)
class Row:
    """A window as the model takes it."""

    input_ids: list[int]
    attention_mask: list[int]
    token_type_ids: list[int]


def row(window: Window, sequence: int, tokenizer: Tokenizer) -> Row:
    """A window filled up to the length of the sequence."""
    before, after = window.first, len(window.context) + 1
    rest = sequence - before - after
    ids = [tokenizer.cls, *window.question, tokenizer.sep, *window.context, tokenizer.sep]
    return Row(
        input_ids=ids + [tokenizer.pad] * rest,
        attention_mask=[1] * len(ids) + [0] * rest,
        token_type_ids=[0] * before + [1] * after + [0] * rest,
    )


def windows(
    questions: Sequence[Question], tokenizer: Tokenizer, sequence: int, stride: int, longest_question: int
) -> Iterator[Window]:
    """All windows of all questions, in order."""
    text, context = "", Tokens([], [])
    for number, each in enumerate(questions):
        # Questions about one context follow each other.
        if each.context != text:
            text, context = each.context, tokenizer.tokens(each.context)
        question = tokenizer.tokens(each.question.lstrip()).ids[:longest_question]
        chunk = sequence - len(question) - 3
        if chunk < 1:
            raise ExportError(
                f"question {each.identifier} has {len(question)} tokens: a sequence of {sequence} has no room for"
                " its context; make --sequence longer or --longest-question less"
            )
        for begin in starts(len(context.ids), chunk, stride):
            offsets = context.offsets[begin : begin + chunk]
            start, end = labels(each.answers[0], offsets, len(question) + 2)
            yield Window(number, question, context.ids[begin : begin + chunk], offsets, start, end)


def starts(count: int, chunk: int, stride: int) -> list[int]:
    """Where the windows over so many tokens begin; the last is the first that reaches the end."""
    step = chunk - min(stride, chunk - 1)
    found = [0]
    while found[-1] + chunk < count:
        found.append(found[-1] + step)
    return found


def labels(answer: Answer, offsets: Sequence[tuple[int, int]], first: int) -> tuple[int, int]:
    """The positions of the answer's first and last token; 0 and 0 where the window does not hold all of it."""
    if not offsets or offsets[0][0] > answer.start or offsets[-1][1] < answer.end:
        return 0, 0
    start = max(place for place, (begin, _) in enumerate(offsets) if begin <= answer.start)
    end = min(place for place, (_, end) in enumerate(offsets) if end >= answer.end)
    return first + start, first + end
