"""Where batches come from, and what an evaluation is; batches that a model makes from random numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from warpforge.export.errors import ExportError
from warpforge.export.model import Model, Tensors
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
    """Batches from the seed alone, or the example batch again and again if the model has no others."""

    def __init__(self, configuration: Configuration, rank: int, model: Model) -> None:
        self.configuration, self.rank, self.model = configuration, rank, model

    def training(self, number: int) -> tuple[Tensors, Tensors]:
        """The batch with this number."""
        return self._batch(self.configuration.data_seed, "train", number, self.rank)

    def evaluate(self, forward: Callable[[Tensors], Any]) -> Evaluated:
        """Measures one batch."""
        # All runs are evaluated on one batch.
        inputs, targets = self._batch(self.configuration.data_seed - self.configuration.run, "evaluation", 0, 0)
        returned = forward(inputs)
        workload = WORKLOADS.get(self.configuration.workload)
        measure = self.model.metrics or (workload.metrics if workload else None)
        return Evaluated(inputs, targets, returned, measure(returned, targets) if measure else {})

    def _batch(self, seed: int, *place: object) -> tuple[Tensors, Tensors]:
        if self.model.batch is None:
            return self.model.inputs, self.model.targets
        inputs, targets = self.model.batch(generator(seed, *place))
        _check_like("input", inputs, self.model.inputs)
        _check_like("target", targets, self.model.targets)
        return inputs, targets


def _check_like(role: str, found: Tensors, example: Tensors) -> None:
    """Programs have fixed shapes: a batch must be like the example they were made from."""
    if list(found) != list(example):
        raise ExportError(f"the {role}s of a batch are {list(found)}, those of the example {list(example)}")
    for name, tensor in found.items():
        if (tensor.shape, tensor.dtype) != (example[name].shape, example[name].dtype):
            raise ExportError(f"{role} `{name}` of a batch is {_shown(tensor)}, in the example {_shown(example[name])}")


def _shown(tensor: Any) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def batches(configuration: Configuration, rank: int, model: Model) -> Batches:
    """The data that a configuration asks for."""
    if configuration.questions is None:
        return RandomBatches(configuration, rank, model)
    from warpforge.golden.squad.source import QuestionBatches

    size, ranks = configuration.batch_size, configuration.ranks
    return QuestionBatches(configuration.questions, configuration.data_seed, size, rank, ranks)
