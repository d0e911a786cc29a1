"""Where batches come from, and what an evaluation is; random batches, which every recipe can make."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from warpforge.export.recipes.recipe import Tensors
from warpforge.golden.configuration import Configuration
from warpforge.golden.workloads import WORKLOADS, generator


@dataclass
class Evaluated:
    """A batch that was not trained on, what the trained model returned for it, and what was measured."""

    inputs: Tensors
    targets: Tensors
    returned: Any
    metrics: dict[str, float]


class Batches(Protocol):
    """The data of one rank."""

    def training(self, number: int) -> tuple[Tensors, Tensors]:
        """Inputs and targets of one batch; the same for the same number, whatever was asked for before."""

    def evaluate(self, forward: Callable[[Tensors], Any]) -> Evaluated:
        """Measures a trained model."""


class RandomBatches:
    """Batches from the seed alone."""

    def __init__(self, configuration: Configuration, rank: int) -> None:
        self.configuration, self.rank = configuration, rank

    def training(self, number: int) -> tuple[Tensors, Tensors]:
        """The batch with this number."""
        return self._batch(self.configuration.data_seed, "train", number, self.rank)

    def evaluate(self, forward: Callable[[Tensors], Any]) -> Evaluated:
        """Measures one batch."""
        # All runs are evaluated on one batch.
        inputs, targets = self._batch(self.configuration.data_seed - self.configuration.run, "evaluation", 0, 0)
        returned = forward(inputs)
        measured = WORKLOADS[self.configuration.workload].metrics(returned, targets)
        return Evaluated(inputs, targets, returned, measured)

    def _batch(self, seed: int, *place: object) -> tuple[Tensors, Tensors]:
        source = generator(seed, *place)
        return self.configuration.recipe.batch_of(source, getattr(torch, self.configuration.dtype))


def batches(configuration: Configuration, rank: int) -> Batches:
    """The data that a configuration asks for."""
    if configuration.questions is None:
        return RandomBatches(configuration, rank)
    from warpforge.golden.squad.source import QuestionBatches

    size, ranks = configuration.batch_size, configuration.ranks
    return QuestionBatches(configuration.questions, configuration.data_seed, size, rank, ranks)
