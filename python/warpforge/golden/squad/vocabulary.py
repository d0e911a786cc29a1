"""BERT's WordPiece tokens from a `vocab.txt`, by Hugging Face's tokenizer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpforge.export.errors import ExportError
from warpforge.golden.squad.reader import content_of

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(frozen=True)
class Tokens:
    """The tokens of a text, each with the code points it comes from."""

    ids: list[int]
    offsets: list[tuple[int, int]]


def entries(path: Path) -> dict[str, int]:
    """The entries of a vocabulary with their numbers: one on each line, counted from 0."""
    lines = [line.removesuffix("\r") for line in content_of(path).split("\n")]
    if lines[-1] == "":
        lines.pop()
    found: dict[str, int] = {}
    for number, line in enumerate(lines):
        if line != line.strip() or not line:
            raise ExportError(f"{path}: line {number + 1} is empty, or has a space at one end")
        if line in found:
            raise ExportError(f"{path}: `{line}` is on lines {found[line] + 1} and {number + 1}")
        found[line] = number
    missing = [each for each in SPECIAL if each not in found]
    if missing:
        raise ExportError(f"{path} has no {missing[0]}")
    return found


class Tokenizer:
    """BERT's tokenizer, without the tokens around a text."""

    def __init__(self, numbers: dict[str, int], lowercase: bool) -> None:
        from transformers import BertTokenizerFast

        self.pad, _, self.cls, self.sep, _ = (numbers[each] for each in SPECIAL)
        self._backend: Any = BertTokenizerFast(vocab=numbers, do_lower_case=lowercase).backend_tokenizer

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text."""
        encoding = self._backend.encode(text, add_special_tokens=False)
        return Tokens(encoding.ids, encoding.offsets)
