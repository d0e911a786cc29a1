"""Initial weights from a folder in Hugging Face layout, given by its path or found in the Hugging Face cache."""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from warpforge.export.errors import ExportError
from warpforge.export.recipes.recipe import cast_module

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
HEAD = "qa_outputs."
LONGEST = 512
SIZES = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "vocabulary": "vocab_size",
}
"""Options of the recipe by their names in `config.json`."""
_FIXED: dict[str, object] = {
    "hidden_act": "gelu",
    "max_position_embeddings": LONGEST,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}
"""What the recipe does not let choose; absent fields have these values."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder with weights."""

    name: str
    folder: Path
    digest: str
    """The SHA-256 of the weights."""
    head: bool
    """Whether they have a head for question answering."""

    @property
    def weights(self) -> str:
        """What the manifest says of them."""
        head = "" if self.head else f"; {HEAD.rstrip('.')} random, from the seed"
        return f"{self.name}, {WEIGHTS} with SHA-256 {self.digest}{head}"

    def sizes(self) -> dict[str, int]:
        """The recipe's sizes; refuses a model that the recipe cannot build."""
        content = _json(self.folder / CONFIG)
        if content.get("model_type") != "bert":
            raise ExportError(f"{self.folder} holds a model of type {content.get('model_type')}, not bert")
        for name, wanted in _FIXED.items():
            if content.get(name, wanted) != wanted:
                raise ExportError(f"{self.folder}: {name} is {content[name]}; the recipe has {wanted}")
        found = {option: content.get(name) for option, name in SIZES.items()}
        for option, value in found.items():
            if not isinstance(value, int) or value < 1:
                raise ExportError(f"{self.folder}: {SIZES[option]} is {value}, not a size")
        return {option: int(value) for option, value in found.items() if value is not None}

    def lowercase(self) -> bool:
        """Whether the tokenizer of the folder makes text lower case."""
        path = self.folder / "tokenizer_config.json"
        return not path.is_file() or _json(path).get("do_lower_case", True) is not False

    def load(self, config: Any, seed: int, dtype: torch.dtype) -> nn.Module:
        """The module; what the weights lack is random, from the seed."""
        from transformers import BertForQuestionAnswering
        from transformers.utils import logging

        # What is missing is judged below.
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module, said = BertForQuestionAnswering.from_pretrained(
                str(self.folder),
                config=config,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        lacking = [name for name in said["missing_keys"] if not name.startswith(HEAD)]
        if lacking or said["mismatched_keys"]:
            first = (sorted(lacking) or [str(each) for each in said["mismatched_keys"]])[0]
            raise ExportError(f"{self.folder / WEIGHTS} has no {first} of the right shape")
        return cast_module(module, dtype)


def find(name: str) -> Checkpoint | None:
    """The checkpoint of this name: a folder, or a model in the cache; none where there is neither."""
    folder = Path(name)
    if not (folder / CONFIG).is_file():
        cached = _cached(name)
        if cached is None:
            if folder.is_dir():
                raise ExportError(f"{folder} has no {CONFIG}")
            return None
        folder = cached
    else:
        name = folder.resolve().name
    path = folder / WEIGHTS
    if not path.is_file():
        raise ExportError(f"{folder} has no {WEIGHTS}; weights in other forms are not read")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Checkpoint(name, folder, digest, any(HEAD in key for key in _keys(path)))


def _cached(name: str) -> Path | None:
    """The snapshot of a model in the Hugging Face cache; BERT's own are there with or without their publisher."""
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        return None
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    for full in (name, f"google-bert/{name}"):
        model = home / "hub" / f"models--{full.replace('/', '--')}"
        main = model / "refs" / "main"
        if main.is_file():
            snapshot = model / "snapshots" / main.read_text(encoding="utf-8").strip()
            if (snapshot / CONFIG).is_file():
                return snapshot
    return None


def _keys(path: Path) -> list[str]:
    from safetensors import safe_open

    try:
        with safe_open(str(path), framework="pt") as file:
            return list(file.keys())
    except Exception as error:
        raise ExportError(f"{path} is not a file of tensors: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ExportError(f"{path} is not a JSON object")
    return content
