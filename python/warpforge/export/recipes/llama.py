"""Llama: one decoder block in prefill and in decode with a cache, and a small model with LoRA."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from warpforge.export.recipes.recipe import Recipe, Tensors, divides, option


def _config(recipe: Any, **more: Any) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.key_value_heads,
        attention_dropout=0.0,
        attn_implementation=recipe.attention,
        use_cache=False,
        **more,
    )


class _Cache:
    """What the attention layer asks for older keys and values: caches of fixed length, new ones put in place."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, position: torch.Tensor) -> None:
        self.keys, self.values, self.position = keys, values, position

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Puts the new keys and values in place and returns all of them."""
        self.keys = self.keys.index_copy(2, self.position, keys)
        self.values = self.values.index_copy(2, self.position, values)
        return self.keys, self.values


class _Kept:
    """A cache that was empty: it keeps what it is given."""

    keys: torch.Tensor
    values: torch.Tensor

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Keeps keys and values."""
        self.keys, self.values = keys, values
        return keys, values


class Block(nn.Module):
    """One decoder layer with its rotary position embedding."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

        self.layer = LlamaDecoderLayer(config, layer_idx=0)
        self.rotary = LlamaRotaryEmbedding(config)

    def run(self, hidden: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor, cache: Any) -> torch.Tensor:
        """The layer at these positions, looking where the mask allows."""
        bias = torch.zeros(mask.shape, dtype=hidden.dtype, device=hidden.device)
        bias = bias.masked_fill(~mask, torch.finfo(hidden.dtype).min)
        result: torch.Tensor = self.layer(
            hidden,
            attention_mask=bias,
            position_ids=positions,
            position_embeddings=self.rotary(hidden, positions),
            past_key_values=cache,
        )
        return result


class Prefill(Block):
    """A whole prompt at once; returns the layer's output and its keys and values for the cache."""

    def forward(self, hidden: torch.Tensor) -> dict[str, torch.Tensor]:
        """`hidden` is (batch, sequence, width)."""
        place = torch.arange(hidden.shape[1], device=hidden.device)
        mask = (place[None, :] <= place[:, None])[None, None]
        cache = _Kept()
        out = self.run(hidden, place[None], mask, cache)
        return {"hidden": out, "keys": cache.keys, "values": cache.values}


class Decode(Block):
    """One more token, against caches of fixed length."""

    def forward(
        self, hidden: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, position: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """`hidden` is (batch, 1, width), the caches (batch, heads, length, head width), `position` one index."""
        place = torch.arange(keys.shape[2], device=hidden.device)
        mask = (place <= position)[None, None, None]
        cache = _Cache(keys, values, position)
        out = self.run(hidden, position[None], mask, cache)
        return {"hidden": out, "keys": cache.keys, "values": cache.values}


@dataclass
class LlamaBlock(Recipe):
    """The recipe `llama-block`; Llama 3.1 8B is `--hidden 4096 --intermediate 14336 --heads 32 --key-value-heads 8`."""

    name: ClassVar[str] = "llama-block"
    summary: ClassVar[str] = "one Llama decoder block: prefill, or decode of one token with a key-value cache"

    phase: str = option("prefill", "a whole prompt, or one token with a cache", ("prefill", "decode"))
    hidden: int = option(256, "width")
    intermediate: int = option(688, "width inside the feed-forward part")
    heads: int = option(8, "attention heads")
    key_value_heads: int = option(4, "heads of keys and values")
    sequence: int = option(64, "tokens of the prompt; in decode, how many the cache can hold")
    batch: int = option(1, "sequences in the batch")
    attention: str = option("sdpa", "how attention is written in PyTorch", ("sdpa", "eager"))

    def check(self) -> None:
        """Heads fit."""
        divides(self, "heads", "hidden")
        divides(self, "key_value_heads", "heads")

    def module(self) -> nn.Module:
        """The block for the chosen phase."""
        config = _config(self, max_position_embeddings=max(2048, self.sequence))
        return Prefill(config) if self.phase == "prefill" else Decode(config)

    def inputs(self, generator: torch.Generator) -> Tensors:
        """Normally distributed activations, and a cache that is three quarters full."""
        if self.phase == "prefill":
            return {"hidden": torch.randn(self.batch, self.sequence, self.hidden, generator=generator)}
        position = self.sequence * 3 // 4
        shape = (self.batch, self.key_value_heads, self.sequence, self.hidden // self.heads)
        full = (torch.arange(self.sequence) < position)[None, None, :, None]
        return {
            "hidden": torch.randn(self.batch, 1, self.hidden, generator=generator),
            "keys": torch.randn(shape, generator=generator) * full,
            "values": torch.randn(shape, generator=generator) * full,
            "position": torch.tensor([position]),
        }

    def targets(self, generator: torch.Generator) -> Tensors:
        """An activation to come close to."""
        length = self.sequence if self.phase == "prefill" else 1
        return {"hidden": torch.randn(self.batch, length, self.hidden, generator=generator)}

    def loss(self, returned: Any, targets: Tensors) -> torch.Tensor:
        """Mean square distance."""
        return F.mse_loss(returned["hidden"], targets["hidden"])


class LoraLinear(nn.Module):
    """A frozen linear layer and a trained product of two narrow ones beside it."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        # A trained adapter is not zero, and a zero one would hide every error in the gradient of the other.
        self.lora_b = nn.Parameter(torch.randn(base.out_features, rank) * 0.02)
        self.scale = alpha / rank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The base and the scaled adapter."""
        adapted: torch.Tensor = self.base(x) + (x @ self.lora_a.T) @ self.lora_b.T * self.scale
        return adapted


@dataclass
class LlamaLora(Recipe):
    """The recipe `llama-lora`."""

    name: ClassVar[str] = "llama-lora"
    summary: ClassVar[str] = "a small Llama with LoRA on q, k, v and o; gradients of the adapters only"

    layers: int = option(2, "decoder layers")
    hidden: int = option(256, "width")
    intermediate: int = option(688, "width inside the feed-forward part")
    heads: int = option(8, "attention heads")
    key_value_heads: int = option(4, "heads of keys and values")
    vocabulary: int = option(1024, "tokens in the vocabulary")
    sequence: int = option(64, "tokens in a sequence")
    batch: int = option(2, "sequences in the batch")
    rank: int = option(8, "rank of the adapters")
    alpha: float = option(16.0, "scale of the adapters, divided by the rank")
    attention: str = option("sdpa", "how attention is written in PyTorch", ("sdpa", "eager"))

    def check(self) -> None:
        """Heads fit."""
        divides(self, "heads", "hidden")
        divides(self, "key_value_heads", "heads")

    def module(self) -> nn.Module:
        """`LlamaForCausalLM`, frozen, with adapters."""
        from transformers import LlamaForCausalLM

        config = _config(
            self,
            vocab_size=self.vocabulary,
            num_hidden_layers=self.layers,
            max_position_embeddings=max(2048, self.sequence),
            bos_token_id=0,
            eos_token_id=0,
        )
        module: nn.Module = LlamaForCausalLM(config)
        module.requires_grad_(False)
        for layer in module.model.layers:  # type: ignore[union-attr]
            attention = layer.self_attn
            for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                setattr(attention, name, LoraLinear(getattr(attention, name), self.rank, self.alpha))
        return module

    def inputs(self, generator: torch.Generator) -> Tensors:
        """Random tokens."""
        return {"input_ids": torch.randint(self.vocabulary, (self.batch, self.sequence), generator=generator)}

    def targets(self, generator: torch.Generator) -> Tensors:
        """The next token at each place; the last place of each sequence does not count."""
        labels = torch.randint(self.vocabulary, (self.batch, self.sequence), generator=generator)
        labels[:, -1] = -100
        return {"labels": labels}

    def loss(self, returned: Any, targets: Tensors) -> torch.Tensor:
        """Cross entropy of the next token."""
        logits = returned.logits
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets["labels"].reshape(-1))
