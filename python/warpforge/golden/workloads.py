"""What can be trained: a recipe of the exporter, how it is trained by default, and what is measured at the end."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from warpforge.export.model import Metrics, Tensors
from warpforge.export.recipes.bert import Bert
from warpforge.export.recipes.mlp import Mlp
from warpforge.export.recipes.recipe import Recipe


@dataclass(frozen=True)
class Data:
    """Where batches come from and on which terms."""

    name: str
    licence: str
    description: str


SYNTHETIC = Data("synthetic", "CC0-1.0", "made from the seed; batch after batch, no two the same")


@dataclass(frozen=True)
class Workload:
    """One line of `WORKLOADS`."""

    recipe: type[Recipe]
    summary: str
    learning_rate: float
    metrics: Metrics
    models: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Sizes by the name of a published model."""
    questions: bool = False
    """Whether it can train on questions in the SQuAD form, from the weights of a checkpoint."""


def accuracy(returned: Any, targets: Tensors) -> dict[str, float]:
    """The share of rows whose largest logit is the right one."""
    right = returned.argmax(dim=-1) == targets["label"]
    return {"accuracy": float(right.double().mean())}


def span_overlap(returned: Any, targets: Tensors) -> dict[str, float]:
    """Exact match and F1 of the answer's tokens, in percent, as for SQuAD but by position instead of by word."""
    exact, overlap = [], []
    found = zip(returned.start_logits.argmax(dim=-1).tolist(), returned.end_logits.argmax(dim=-1).tolist(), strict=True)
    wanted = zip(targets["start_positions"].tolist(), targets["end_positions"].tolist(), strict=True)
    for (start, end), (first, last) in zip(found, wanted, strict=True):
        exact.append(float((start, end) == (first, last)))
        common = max(0, min(end, last) - max(start, first) + 1)
        # Harmonic mean of precision and recall: twice the common part over both lengths.
        overlap.append(2.0 * common / (max(0, end - start + 1) + last - first + 1))
    return {"exact_match": 100.0 * sum(exact) / len(exact), "f1": 100.0 * sum(overlap) / len(overlap)}


BERT_MODELS = {
    "bert-base-uncased": {"layers": 12, "hidden": 768, "heads": 12, "intermediate": 3072, "vocabulary": 30522},
    "bert-large-uncased": {"layers": 24, "hidden": 1024, "heads": 16, "intermediate": 4096, "vocabulary": 30522},
}

WORKLOADS: dict[str, Workload] = {
    "mlp": Workload(Mlp, "a two-layer perceptron; the smallest run with everything in it", 1e-3, accuracy),
    "bert-squad": Workload(
        Bert,
        "BERT for question answering, any size, on random batches or on data in the SQuAD form",
        3e-5,
        span_overlap,
        BERT_MODELS,
        questions=True,
    ),
}


def generator(seed: int, *place: object) -> torch.Generator:
    """Random numbers that depend on the seed and on what they are for, and on nothing that ran before."""
    text = "/".join(str(part) for part in (seed, *place))
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
    return torch.Generator().manual_seed(number)
