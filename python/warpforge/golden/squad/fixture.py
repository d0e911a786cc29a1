"""Hard cases with their features, scores and answers, for tests of other implementations of docs/golden.md.

`python -m warpforge.golden made-squad --fixture FILE` writes them; the result is CC0-1.0.
"""

# ruff: noqa: RUF001 - such characters are what this is about

import json
import random
import string
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

from warpforge.golden.squad import answers, cases, metrics, order, reader, vocabulary, windows
from warpforge.golden.squad.vocabulary import SPECIAL, Tokenizer
from warpforge.golden.squad.windows import Window

SETS = (
    {"lowercase": True, "sequence": 24, "stride": 6, "longest_question": 8},
    {"lowercase": False, "sequence": 32, "stride": 4, "longest_question": 8},
    # The stride is more than there is room for.
    {"lowercase": True, "sequence": 40, "stride": 128, "longest_question": 5},
)


def write(path: Path) -> None:
    """Writes all cases as one JSON file."""
    text = json.dumps(content(), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    # One line for each feature or case keeps differences readable.
    path.write_text(text.replace('},{"', '},\n{"') + "\n", encoding="utf-8")


def content() -> dict[str, Any]:
    """All cases."""
    entries = _entries()
    data = cases.data()
    with tempfile.TemporaryDirectory(prefix="warpforge-golden-") as folder:
        # Read as a file of strangers is.
        file, words = Path(folder) / "data.json", Path(folder) / "vocab.txt"
        file.write_text(json.dumps(data), encoding="utf-8")
        words.write_text("\n".join(entries) + "\n", encoding="utf-8")
        questions, numbers = reader.read(file), vocabulary.entries(words)
    sets = [_features(questions, numbers, settings) for settings in SETS]
    scores = [
        {"prediction": given, "answers": wanted, "exact": metrics.exact(given, wanted), "f1": metrics.f1(given, wanted)}
        for given, wanted in cases.SCORES
    ]
    return {
        "licence": "CC0-1.0",
        "vocabulary": entries,
        "data": data,
        "sets": [{"settings": settings, "features": found[1]} for settings, found in zip(SETS, sets, strict=True)],
        "scores": scores,
        "score": metrics.score([given for given, _ in cases.SCORES], [wanted for _, wanted in cases.SCORES]),
        "answers": _answers(questions, sets[0][0], SETS[0]["sequence"]),
        "order": {"seed": 3, "epoch": 1, "features": 20, "order": order.order(3, 1, 20)},
    }


def _entries() -> list[str]:
    letters = [*string.ascii_letters, *string.digits, *"éßøłμσαςﬁ東京日本首都です한국어हन🎉𝔘"]
    # What accents are taken from falls into its parts: Korean syllables into letters.
    letters += unicodedata.normalize("NFD", "한국어")
    found = [*SPECIAL, *string.punctuation, *"“”‘’—…。、¿", *letters, *(f"##{each}" for each in letters), *cases.WORDS]
    return list(dict.fromkeys(found))


def _features(
    questions: list[reader.Question], numbers: dict[str, int], settings: dict[str, Any]
) -> tuple[list[Window], list[dict[str, Any]]]:
    tokenizer = Tokenizer(numbers, settings["lowercase"])
    sizes = settings["sequence"], settings["stride"], settings["longest_question"]
    found = list(windows.windows(questions, tokenizer, *sizes))
    features = []
    for each in found:
        row = windows.row(each, settings["sequence"], tokenizer)
        features.append(
            {
                "question": each.number,
                "input_ids": row.input_ids,
                "attention_mask": row.attention_mask,
                "token_type_ids": row.token_type_ids,
                "start": each.start,
                "end": each.end,
                "offsets": each.offsets,
            }
        )
    return found, features


def _answers(questions: list[reader.Question], found: list[Window], sequence: int) -> list[dict[str, Any]]:
    """Logits of the first set's windows; all are float32 values."""
    made = []
    for name, number, settings, changes in cases.LOGITS:
        of_question = [each for each in found if each.number == number]
        source = random.Random(name)  # noqa: S311 - the same numbers again
        starts, ends = (
            [[source.randint(-64, 64) / 16 for _ in range(sequence)] for _ in of_question] for _ in range(2)
        )
        for side, window, where, value in changes:
            rows = starts if side == "start" else ends
            for each in [window] if window >= 0 else range(len(rows)):
                for place in _places(of_question[each], where, sequence):
                    rows[each][place] = value
        made.append(
            {
                "case": name,
                "question": number,
                **settings,
                "start_logits": starts,
                "end_logits": ends,
                "answer": answers.answer(
                    of_question, starts, ends, questions[number].context, settings["longest_answer"], settings["best"]
                ),
            }
        )
    return made


def _places(window: Window, where: int | str, sequence: int) -> list[int]:
    """Positions of a row: a context token by its number, or a part of the row by its name."""
    if isinstance(where, int):
        return [window.first + where]
    named = {"all": range(sequence), "cls": range(1), "question": range(1, window.first), "pad": [sequence - 1]}
    return list(named[where])
