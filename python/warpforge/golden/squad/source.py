"""Batches of questions, and the answers of a trained model."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from warpforge.export.errors import ExportError
from warpforge.export.recipes.recipe import Tensors
from warpforge.golden.evaluation import Evaluated
from warpforge.golden.squad import answers, metrics, order
from warpforge.golden.squad.questions import Questions, load
from warpforge.golden.squad.windows import Window, row


class QuestionBatches:
    """The batches of one rank."""

    def __init__(self, questions: Questions, seed: int, size: int, rank: int, ranks: int) -> None:
        self.questions, self.loaded = questions, load(questions)
        self.seed, self.size, self.rank, self.ranks = seed, size, rank, ranks

    def training(self, number: int) -> tuple[Tensors, Tensors]:
        """The batch of a step."""
        features = self.loaded.features
        chosen = order.batch(self.seed, number, self.size, self.rank, self.ranks, len(features))
        return self._tensors([features[index] for index in chosen])

    def evaluate(self, forward: Callable[[Tensors], Any]) -> Evaluated:
        """Answers every question, all batches of windows in order, the last filled up by its last row."""
        windows = self.loaded.dev_windows
        starts: list[list[float]] = []
        ends: list[list[float]] = []
        kept: Evaluated | None = None
        for begin in range(0, len(windows), self.size):
            part = windows[begin : begin + self.size]
            inputs, targets = self._tensors(part + [part[-1]] * (self.size - len(part)))
            returned = forward(inputs)
            starts += _rows(returned.start_logits, len(part))
            ends += _rows(returned.end_logits, len(part))
            kept = kept or Evaluated(inputs, targets, returned, {})
        assert kept is not None, "a set has questions, and each has a window"
        accepted = [[each.text for each in question.answers] for question in self.loaded.dev]
        kept.metrics = metrics.score(self._answers(starts, ends), accepted)
        return kept

    def _answers(self, starts: list[list[float]], ends: list[list[float]]) -> list[str]:
        groups: list[list[int]] = [[] for _ in self.loaded.dev]
        for index, window in enumerate(self.loaded.dev_windows):
            groups[window.number].append(index)
        return [
            answers.answer(
                [self.loaded.dev_windows[index] for index in group],
                [starts[index] for index in group],
                [ends[index] for index in group],
                question.context,
                self.questions.longest_answer,
                self.questions.best,
            )
            for question, group in zip(self.loaded.dev, groups, strict=True)
        ]

    def _tensors(self, windows: Sequence[Window]) -> tuple[Tensors, Tensors]:
        rows = [row(each, self.questions.sequence, self.loaded.tokenizer) for each in windows]
        inputs = {
            "input_ids": torch.tensor([each.input_ids for each in rows]),
            "attention_mask": torch.tensor([each.attention_mask for each in rows]),
            "token_type_ids": torch.tensor([each.token_type_ids for each in rows]),
        }
        targets = {
            "start_positions": torch.tensor([each.start for each in windows]),
            "end_positions": torch.tensor([each.end for each in windows]),
        }
        return inputs, targets


def _rows(logits: torch.Tensor, count: int) -> list[list[float]]:
    if not bool(torch.isfinite(logits).all()):
        raise ExportError("the trained model's logits are not finite; a lower learning rate may help")
    rows: list[list[float]] = logits[:count].float().tolist()
    return rows
