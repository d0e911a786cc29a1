"""Every recipe, end to end: the written text, run by XLA on the written tensors, gives what PyTorch gives."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from warpforge.export.check import check
from warpforge.export.exporter import Settings, export
from warpforge.export.recipes import RECIPES
from warpforge.export.recipes.llama import LlamaBlock

TINY_BERT = {
    "layers": 2,
    "hidden": 64,
    "heads": 4,
    "intermediate": 128,
    "vocabulary": 100,
    "sequence": 32,
    "batch": 2,
}
TINY_LLAMA: dict[str, Any] = {"hidden": 64, "heads": 4, "key_value_heads": 2, "intermediate": 96, "sequence": 16}

CASES: list[tuple[str, dict[str, Any], int]] = [
    ("mlp", {}, 6),
    ("bert", TINY_BERT, 42),
    ("bert", {**TINY_BERT, "attention": "eager"}, 42),
    ("resnet50", {"resolution": 64, "classes": 10, "batch": 2}, 0),
    ("resnet50-fpn-rpn", {"height": 64, "width": 96}, 0),
    ("llama-block", {**TINY_LLAMA, "phase": "prefill"}, 0),
    ("llama-block", {**TINY_LLAMA, "phase": "decode"}, 0),
    ("llama-lora", {**TINY_LLAMA, "vocabulary": 100}, 18),
]


def test_half_precision_keeps_what_is_derived_exact(tmp_path: Path) -> None:
    model = LlamaBlock(**TINY_LLAMA).build(dtype=torch.bfloat16)
    export(model, tmp_path, Settings(programs=("forward",), reference=True))
    check(tmp_path)
    written = json.loads((tmp_path / "manifest.json").read_text())
    kinds = {tensor["role"]: tensor["dtype"] for tensor in written["model"]["tensors"]}
    assert kinds == {"parameter": "bf16", "buffer": "f32"}


def title(case: object) -> str:
    return "-".join(str(value) for value in case.values()) if isinstance(case, dict) else str(case)


@pytest.mark.parametrize(("name", "options", "count"), CASES, ids=title)
def test_programs_compute_what_pytorch_computes(name: str, options: dict[str, Any], count: int, tmp_path: Path) -> None:
    model = RECIPES[name](**options).build(seed=3)
    export(model, tmp_path, Settings(programs=("forward", "gradients"), reference=True, seed=3))
    differences = check(tmp_path)
    written = json.loads((tmp_path / "manifest.json").read_text())
    results = [result for program in written["programs"] for result in program["results"]]
    assert len(differences) == len(results)
    assert count in (0, len(results))
    # What one layer differs by from PyTorch is rounding; it grows with the depth.
    assert max(each.relative for each in differences) < (1e-3 if "resnet" in name else 2e-5)
