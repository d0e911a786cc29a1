"""Golden runs: what is written, that plain PyTorch computed it, and that the programs know the same names."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from warpforge.export.errors import ExportError
from warpforge.export.recipes.mlp import Mlp
from warpforge.golden import activations
from warpforge.golden.bundle import make
from warpforge.golden.command import main
from warpforge.golden.configuration import Configuration, Schedule
from warpforge.golden.training import build

TINY_BERT = ["--layers", "2", "--hidden", "32", "--heads", "2", "--intermediate", "48", "--vocabulary", "50"]


def configuration(**changes: Any) -> Configuration:
    return Configuration(workload="mlp", recipe=Mlp(batch=4), schedule=Schedule(1e-3), threads=1, **changes)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("golden")
    make(configuration(seed=1, data_seed=2, activations="all"), directory)
    return directory


@pytest.fixture(scope="module")
def manifest(bundle: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((bundle / "manifest.json").read_text())
    return content


def test_every_file_is_listed_with_its_digest(bundle: Path, manifest: dict[str, Any]) -> None:
    there = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    assert there == {*manifest["files"], "manifest.json"}
    for name, entry in manifest["files"].items():
        content = (bundle / name).read_bytes()
        assert entry == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert (manifest["format"], manifest["schema_version"]) == ("warpforge.golden", 1)
    assert manifest["data"][0]["licence"] == "CC0-1.0"
    assert manifest["machine"]["cpus"] >= 1


def test_a_step_is_what_pytorch_computes_from_its_start(bundle: Path, manifest: dict[str, Any]) -> None:
    module: Any = build(configuration()).module
    for step in manifest["steps"]:
        before = load_file(bundle / step["before"]["weights"])
        module.load_state_dict(before)
        module.zero_grad()
        rank = step["ranks"][0]
        given = load_file(bundle / rank["inputs"])
        hidden = F.gelu(F.linear(given["input.x"], module.up.weight, module.up.bias))
        logits = F.linear(hidden, module.down.weight, module.down.bias)
        loss = F.cross_entropy(logits, given["target.label"].long())
        loss.backward()  # type: ignore[no-untyped-call]
        assert float(loss.detach()) == pytest.approx(rank["loss"], rel=1e-6)
        seen = load_file(bundle / rank["activations"])
        assert set(seen) == {"(model)", "up", "down"}
        torch.testing.assert_close(seen["(model)"], logits.detach())
        gradients = load_file(bundle / step["gradients"])
        after = load_file(bundle / step["after"]["weights"])
        state = load_file(bundle / step["after"]["optimizer"])
        number = float(state["step"])
        assert number == step["index"] + 1
        for name, parameter in module.named_parameters():
            assert parameter.grad is not None
            torch.testing.assert_close(gradients[name], parameter.grad)
            first, second = state[f"{name}.exp_avg"].double(), state[f"{name}.exp_avg_sq"].double()
            direction = first / (1 - 0.9**number) / ((second / (1 - 0.999**number)).sqrt() + 1e-8)
            rate = step["learning_rate"]
            expected = before[name].double() * (1 - rate * 0.01) - rate * direction
            torch.testing.assert_close(after[name].double(), expected, rtol=1e-6, atol=1e-8)


def test_the_loss_curve_has_every_step(bundle: Path, manifest: dict[str, Any]) -> None:
    curve = json.loads((bundle / manifest["loss_curve"]).read_text())
    assert curve["loss"] == curve["ranks"][0] == [step["ranks"][0]["loss"] for step in manifest["steps"]]
    assert json.loads((bundle / manifest["metrics"]).read_text())["metrics"].keys() == {"accuracy"}


def test_the_programs_know_every_activation(bundle: Path, manifest: dict[str, Any]) -> None:
    exported = json.loads((bundle / manifest["programs"]).read_text())
    program = next(each for each in exported["programs"] if each["name"] == "gradients")
    known = {(each["module"], each["call"], each["output"]) for each in program["module_values"]}
    wanted = {(each["module"], each["call"], each["output"]) for each in manifest["activations"]}
    assert wanted
    assert wanted <= known


def test_the_same_seeds_give_the_same_tensors(manifest: dict[str, Any], tmp_path: Path) -> None:
    again = make(configuration(seed=1, data_seed=2, activations="all"), tmp_path)
    tensors = [name for name in manifest["files"] if name.endswith(".safetensors")]
    assert len(tensors) > 10
    assert all(again["files"][name] == manifest["files"][name] for name in tensors)


def test_ranks_average_their_gradients(tmp_path: Path) -> None:
    written = make(configuration(ranks=2, steps=2, record=1), tmp_path)
    step = written["steps"][0]
    parts = [load_file(tmp_path / rank["gradients"]) for rank in step["ranks"]]
    mean = load_file(tmp_path / step["gradients"])
    for name, tensor in mean.items():
        assert not torch.equal(parts[0][name], parts[1][name])
        torch.testing.assert_close(tensor, (parts[0][name] + parts[1][name]) / 2)
    assert written["configuration"]["backend"] == "gloo"
    assert written["final"]["weights"] == "final/weights.safetensors"
    curve = json.loads((tmp_path / "loss_curve.json").read_text())
    assert curve["loss"][1] == pytest.approx((curve["ranks"][0][1] + curve["ranks"][1][1]) / 2)


def test_bert_through_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bert"
    words = ["bert-squad", *TINY_BERT, "--seq", "16", "--batch-size", "2", "--steps", "1", "--out", str(out)]
    assert main(words) == 0
    assert "training bert-squad for 1 steps with PyTorch" in capsys.readouterr().err
    written = json.loads((out / "manifest.json").read_text())
    assert written["model"]["options"]["sequence"] == 16
    modules = [each["module"] for each in written["activations"]]
    assert [name for name in modules if "encoder.layer" in name] == ["bert.encoder.layer.0", "bert.encoder.layer.1"]
    assert {"bert.embeddings", "qa_outputs"} <= set(modules)
    assert json.loads((out / "metrics.json").read_text())["metrics"].keys() == {"exact_match", "f1"}


def test_training_knows_nothing_of_the_exporter(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from warpforge.golden import training, configuration;"
        "from warpforge.export.recipes.mlp import Mlp;"
        "c = configuration.Configuration('mlp', Mlp(), configuration.Schedule(1e-3));"
        "training.train(c, Path(sys.argv[1]));"
        "print([name for name in ('jax', 'torchax', 'warpforge.export.functional') if name in sys.modules])"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_modules_are_chosen_by_name() -> None:
    module = build(configuration()).module
    assert activations.chosen(module, "all") == ["", "up", "down"]
    assert activations.chosen(module, "none") == []
    assert activations.chosen(module, "d*, up") == ["up", "down"]
    with pytest.raises(ExportError, match="no module matches `left`"):
        activations.chosen(module, "left")


def test_the_learning_rate_rises_and_falls() -> None:
    schedule = Schedule(1.0, "linear", warmup_steps=2)
    assert [schedule.rate(step, 6) for step in range(6)] == pytest.approx([1 / 3, 2 / 3, 1.0, 0.75, 0.5, 0.25])
    assert Schedule(0.5).rate(5, 6) == 0.5


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["bart", "--out", "x"], "no recipe `bart`; the recipes are mlp, bert-squad"),
        (["mlp", "--out", "x", "--steps", "0"], "steps is 0; it must be at least 1"),
        (["mlp", "--out", "x", "--epochs", "2"], "--epochs needs --examples, at least one batch of 8"),
        (["mlp", "--out", "x", "--warmup-steps", "3"], "a warm-up of 3 steps leaves nothing of 3"),
        (["mlp", "--out", "."], "is not empty: a bundle needs a directory of its own"),
    ],
)
def test_mistakes_are_answered_with_a_reason(
    argv: list[str], reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    assert main(argv) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "manifest.json").exists()
