"""Shared by all tests: exports that several of them look at are made once."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from warpforge.export.exporter import Settings, export
from warpforge.export.recipes import RECIPES

# The tensors are small, and threads that wait for each other are slow on a busy machine.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of the smallest recipe with everything in it."""
    directory = tmp_path_factory.mktemp("mlp")
    export(RECIPES["mlp"]().build(seed=1), directory, Settings(reference=True, seed=1))
    return directory


@pytest.fixture(scope="session")
def mlp_manifest(mlp: Path) -> dict[str, Any]:
    """Its manifest."""
    content: dict[str, Any] = json.loads((mlp / "manifest.json").read_text())
    return content
