"""Exact match and F1 of answers, as the evaluation of SQuAD v1.1 defines them."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str) -> list[str]:
    """The words that are compared: lower case, without ASCII punctuation, without articles."""
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def exact(prediction: str, answers: Sequence[str]) -> float:
    """1 if the words of some answer are those of the prediction, else 0."""
    return float(any(words(prediction) == words(each) for each in answers))


def f1(prediction: str, answers: Sequence[str]) -> float:
    """The best harmonic mean of precision and recall over the answers, by words as often as they occur."""
    return max(_overlap(words(prediction), words(each)) for each in answers)


def _overlap(found: list[str], wanted: list[str]) -> float:
    common = sum((Counter(found) & Counter(wanted)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(found), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def score(predictions: Sequence[str], accepted: Sequence[Sequence[str]]) -> dict[str, float]:
    """Both in percent, the mean over all questions."""
    equal = overlap = 0.0
    # Added one after the other: `sum` rounds otherwise in newer versions of Python.
    for prediction, answers in zip(predictions, accepted, strict=True):
        equal += exact(prediction, answers)
        overlap += f1(prediction, answers)
    return {"exact_match": 100.0 * equal / len(predictions), "f1": 100.0 * overlap / len(predictions)}
