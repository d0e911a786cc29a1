"""The order in which features are trained on: another one in each epoch, from the seed alone."""

import functools
import hashlib


@functools.lru_cache(maxsize=2)
def order(seed: int, epoch: int, count: int) -> list[int]:
    """The numbers of all features, by the digest of seed, epoch and number."""
    return sorted(range(count), key=lambda index: hashlib.sha256(f"{seed}/order/{epoch}/{index}".encode()).hexdigest())


def batch(seed: int, step: int, size: int, rank: int, ranks: int, count: int) -> list[int]:
    """The features of one rank's batch in a step; what does not fill a batch of all ranks is dropped."""
    epoch, number = divmod(step, count // (size * ranks))
    begin = (number * ranks + rank) * size
    return order(seed, epoch, count)[begin : begin + size]
