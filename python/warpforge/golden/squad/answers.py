"""The answer that logits mean."""

from collections.abc import Sequence

from warpforge.golden.squad.windows import Window


def answer(
    windows: Sequence[Window],
    starts: Sequence[Sequence[float]],
    ends: Sequence[Sequence[float]],
    context: str,
    longest: int,
    best: int,
) -> str:
    """The part of the context with the highest sum of logits over all windows of a question.

    Logits are those of whole rows, float32 values held as Python's float64.
    """
    found: tuple[float, str] | None = None
    for window, start_row, end_row in zip(windows, starts, ends, strict=True):
        candidates = [
            (start_row[start] + end_row[end], -start, -end)
            for start in _highest(start_row, best, window)
            for end in _highest(end_row, best, window)
            if start <= end < start + longest
        ]
        if candidates:
            score, start, end = max(candidates)
            if found is None or score > found[0]:
                first = window.offsets[-start - window.first][0]
                last = window.offsets[-end - window.first][1]
                found = score, context[first:last]
    return found[1] if found else ""


def _highest(logits: Sequence[float], best: int, window: Window) -> list[int]:
    """Positions of the highest logits of the row, as far as they are in the context part."""
    ranked = sorted(range(len(logits)), key=lambda place: (-logits[place], place))[:best]
    return [place for place in ranked if 0 <= place - window.first < len(window.context)]
