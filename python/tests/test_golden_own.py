"""Golden runs of a user's own model: what a factory returns is trained, and what could not be compared is refused."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from warpforge.golden.command import main

SOURCE = """
import torch
from warpforge.export import Model

def batch(generator, rows=4):
    return {"x": torch.randn(rows, 3, generator=generator)}, {"y": torch.randn(rows, 2, generator=generator)}

def build(width=5, drop=0.0, loss=True, rows=4, further=True):
    module = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.Dropout(drop), torch.nn.Linear(width, 2))
    inputs, targets = batch(torch.Generator().manual_seed(0))
    return Model(
        Named(module), inputs, targets,
        loss=(lambda returned, targets: (returned - targets["y"]).square().mean()) if loss else None,
        batch=(lambda generator: batch(generator, rows)) if further else None,
        metrics=lambda returned, targets: {"mean": float(returned.mean())},
    )

class Named(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "some_model.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "some_model", raising=False)
    return "some_model:build"


def golden(place: str, *words: str) -> dict[str, Any]:
    assert main(["--module", place, "--threads", "1", "--out", "golden", *words]) == 0
    manifest: dict[str, Any] = json.loads(Path("golden/manifest.json").read_text())
    return manifest


def test_a_factory_is_trained_from_other_weights_and_batches_in_each_run(place: str) -> None:
    manifest = golden(place, "--option", "width=6", "--steps", "2", "--runs", "2", "--data-licence", "MIT")
    assert manifest["model"]["recipe"] == "build"
    assert manifest["model"]["options"] == {"width": 6, "module": place, "dtype": "float32"}
    assert manifest["data"][0]["licence"] == "MIT"
    assert manifest["configuration"]["batch_size"] == 4
    first, second = manifest["runs"]
    assert first["batch_count"] == 2
    for kind in ("initial", "batches"):
        names = [run[kind] if kind == "initial" else run[kind][0] for run in (first, second)]
        one, other = (load_file(Path("golden") / name) for name in names)
        assert set(one) == set(other)
        assert not any(torch.equal(one[name], other[name]) for name in one)
    assert load_file(Path("golden") / first["initial"])["inner.0.weight"].shape == (6, 3)
    assert "mean" in first["metrics"]
    programs = json.loads((Path("golden") / manifest["programs"]).read_text())
    assert [each["name"] for each in programs["programs"]] == ["forward", "gradients", "adamw"]


def test_without_further_batches_every_step_sees_the_example(place: str) -> None:
    manifest = golden(place, "--option", "further=false", "--steps", "3")
    assert manifest["runs"][0]["batch_count"] == 1
    assert manifest["data"][0]["description"] == "the example batch, at every step"
    inputs = [load_file(Path("golden") / step["ranks"][0]["inputs"]) for step in manifest["steps"]]
    assert all(torch.equal(each["input.x"], inputs[0]["input.x"]) for each in inputs)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("drop=0.5", "`inner.1` drops values at random (p = 0.5)"),
        ("loss=false", "has no loss to train by"),
        ("rows=5", "input `x` of a batch is float32[5, 3], in the example float32[4, 3]"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    place: str, option: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--module", place, "--option", option, "--threads", "1", "--out", "golden"]) == 2
    assert reason in capsys.readouterr().err


def test_a_factory_that_is_not_there_is_named(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--module", place.replace("build", "other"), "--out", "golden"]) == 2
    assert "has no attribute 'other'" in capsys.readouterr().err
