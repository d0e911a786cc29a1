"""BERT with a head for question answering, in any size."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from warpforge.export.recipes.recipe import Recipe, Tensors, divides, option


@dataclass
class Bert(Recipe):
    """The recipe `bert`; BERT-large is `--layers 24 --hidden 1024 --heads 16 --intermediate 4096`."""

    name: ClassVar[str] = "bert"
    summary: ClassVar[str] = "BERT for question answering, any size; the loss is that of start and end positions"

    layers: int = option(2, "encoder layers")
    hidden: int = option(1024, "width")
    heads: int = option(16, "attention heads")
    intermediate: int = option(4096, "width inside the feed-forward part")
    vocabulary: int = option(30522, "tokens in the vocabulary")
    sequence: int = option(384, "tokens in a sequence")
    batch: int = option(1, "sequences in the batch")
    attention: str = option("sdpa", "how attention is written in PyTorch", ("sdpa", "eager"))

    def check(self) -> None:
        """Heads divide the width."""
        divides(self, "heads", "hidden")

    def module(self) -> nn.Module:
        """`BertForQuestionAnswering` without dropout."""
        from transformers import BertConfig, BertForQuestionAnswering

        config = BertConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.intermediate,
            max_position_embeddings=max(512, self.sequence),
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation=self.attention,
            pad_token_id=0 if self.vocabulary > 1 else None,
        )
        module: nn.Module = BertForQuestionAnswering(config)
        return module

    def inputs(self, generator: torch.Generator) -> Tensors:
        """Random tokens; a question of a fifth of the length, then context, then a little padding."""
        shape = (self.batch, self.sequence)
        position = torch.arange(self.sequence).expand(shape)
        real = self.sequence - self.sequence // 16
        return {
            "input_ids": torch.randint(self.vocabulary, shape, generator=generator) * (position < real),
            "attention_mask": (position < real).long(),
            "token_type_ids": ((position >= self.sequence // 5) & (position < real)).long(),
        }

    def targets(self, generator: torch.Generator) -> Tensors:
        """A start and an end per sequence."""
        real = self.sequence - self.sequence // 16
        places = torch.randint(real, (2, self.batch), generator=generator).sort(dim=0).values
        return {"start_positions": places[0].clone(), "end_positions": places[1].clone()}

    def loss(self, returned: Any, targets: Tensors) -> torch.Tensor:
        """The mean of the cross entropies of start and end."""
        start = F.cross_entropy(returned.start_logits, targets["start_positions"])
        end = F.cross_entropy(returned.end_logits, targets["end_positions"])
        return (start + end) / 2
