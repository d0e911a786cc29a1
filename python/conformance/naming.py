"""What a case is called, which file it lies in and which random numbers it gets: functions of its name alone."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterable

LONGEST_STEM = 80


def stem(name: str) -> str:
    """A file name without its ending: readable, short enough for every file system, and different for each name."""
    readable = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:LONGEST_STEM]
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{readable}-{digest}"


def seed(name: str) -> int:
    """The seed of the random inputs, so that a part of the corpus has the same inputs as the whole."""
    return zlib.crc32(name.encode())


def distinct(names: Iterable[str]) -> list[str]:
    """The names, with `#2` and so on behind those that were there before."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result
