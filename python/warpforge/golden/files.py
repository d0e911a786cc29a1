"""The files of a bundle: where each lies, how it is written, and its digest."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from warpforge.export import tensors

MANIFEST = "manifest.json"
PROGRAMS = "programs"
LOSS_CURVE = "loss_curve.json"
METRICS = "metrics.json"
EVALUATION_INPUTS = "evaluation/inputs.safetensors"
EVALUATION_OUTPUTS = "evaluation/outputs.safetensors"


def initial(run: int) -> str:
    """The weights that a run starts from."""
    return f"{of_run(run)}initial/weights.safetensors"


def batches(run: int, rank: int) -> str:
    """Every batch of one rank in a run."""
    return f"{of_run(run)}batches/rank{rank}.safetensors"


def of_run(run: int) -> str:
    """What stands before the files of a run; nothing for the first, which is the bundle's own."""
    return f"runs/{run:04}/" if run else ""


def of_step(step: int, content: str, rank: int | None = None) -> str:
    """The file with one content of one step; of one rank where each has its own."""
    folder = f"steps/{step:04}" if rank is None else f"steps/{step:04}/rank{rank}"
    return f"{folder}/{content}.safetensors"


def write_tensors(directory: Path, name: str, content: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors in the element types the programs use."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    # One entry only: the same run must give the same bytes.
    tensors.write(path, content, {"format": "pt"})


def write_json(directory: Path, name: str, content: Mapping[str, Any]) -> None:
    """Writes JSON whole or not at all; numbers that are not finite are refused, since JSON has none."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    partial = directory / f".{name}.partial"
    partial.write_text(text, encoding="utf-8")
    partial.replace(directory / name)


def digests(directory: Path) -> dict[str, dict[str, Any]]:
    """Size and SHA-256 of every file there is, by its path below the directory."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[path.relative_to(directory).as_posix()] = {"bytes": path.stat().st_size, "sha256": digest}
    return found
