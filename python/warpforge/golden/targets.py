"""What a run is expected to reach, and whether it does."""

import math
from collections.abc import Mapping, Sequence

from warpforge.export.errors import ExportError

AT_LEAST = ("f1", "exact_match")
AT_MOST = ("final_loss", "seconds")
LATER = ("throughput",)
"""Of a validation, as a part of this run's own speed: nothing here can miss it."""
ALL = AT_LEAST + AT_MOST + LATER
OWN = {"f1": 90.0, "exact_match": 84.0, "final_loss": 0.5, "seconds": 14400.0, "throughput": 0.85}
"""Those of a published BERT that is trained on SQuAD."""


def read(words: Sequence[str], own: Mapping[str, float]) -> dict[str, float]:
    """The recipe's own targets, changed by words such as `f1=90`."""
    found = dict(own)
    for word in words:
        name, _, number = word.partition("=")
        if name not in ALL:
            raise ExportError(f"no target `{name}`; the targets are {', '.join(ALL)}")
        try:
            found[name] = float(number)
        except ValueError as error:
            raise ExportError(f"--target {word}: `{number}` is not a number") from error
        if not math.isfinite(found[name]):
            raise ExportError(f"--target {word}: the number must be finite")
    return found


def final_loss(loss: Sequence[float]) -> float:
    """The mean over the last tenth of the steps."""
    last = loss[-math.ceil(len(loss) / 10) :]
    return sum(last) / len(last)


def missed(targets: Mapping[str, float], reached: Mapping[str, float]) -> list[str]:
    """A line for each target that was not reached."""
    lines = []
    for name, wanted in targets.items():
        if name in LATER:
            continue
        found = reached.get(name)
        if found is None:
            lines.append(f"misses its target: {name} was not measured")
        elif name in AT_LEAST and found < wanted:
            lines.append(f"misses its target: {name} {_shown(found)}, at least {wanted:g}")
        elif name in AT_MOST and found > wanted:
            lines.append(f"misses its target: {name} {_shown(found)}, at most {wanted:g}")
    return lines


def _shown(number: float) -> str:
    return f"{number:.1f}" if number >= 10 else f"{number:.3g}"
