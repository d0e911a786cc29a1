"""The command line, in a process of its own where that is what matters."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from warpforge.export.command import main


def test_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in listed] == [
        "mlp",
        "bert",
        "resnet50",
        "resnet50-fpn-rpn",
        "llama-block",
        "llama-lora",
    ]
    assert main(["--list"]) == 0
    assert "--key-value-heads 4" in capsys.readouterr().out


def test_a_recipe_is_exported_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["mlp", "--hidden", "24", "--out", str(out), "--programs", "forward,gradients", "--check"]) == 0
    assert "6 results agree with PyTorch" in capsys.readouterr().err
    content = json.loads((out / "manifest.json").read_text())
    assert content["model"]["options"]["hidden"] == 24
    assert sorted(file.name for file in out.iterdir()) == [
        "forward.mlir",
        "gradients.mlir",
        "inputs.safetensors",
        "manifest.json",
        "reference.safetensors",
        "weights.safetensors",
    ]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["bart", "--out", "x"], "no recipe `bart`; the recipes are mlp, bert"),
        (["mlp", "--out", "x", "--programs", "backward"], "no program `backward`"),
        (["bert", "--out", "x", "--heads", "7"], r"heads (7) must divide hidden (1024)"),
        (["mlp", "--out", "x", "--batch", "0"], "batch is 0; it must be at least 1"),
        (["mlp", "--out", "x", "--check", "--no-weights"], "--check runs the written files"),
        (["--module", "nothing", "--out", "x"], "expected PACKAGE.MODULE:FACTORY"),
        (["--module", "no.such:thing", "--out", "x"], "No module named 'no'"),
        (["convert", "missing.mlirbc"], "cannot read missing.mlirbc: No such file"),
    ],
)
def test_mistakes_are_answered_with_a_reason(
    argv: list[str], reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "x" / "manifest.json").exists()


FACTORY = """
import torch
from warpforge.export import Model

def build(width=4):
    loss = lambda out, targets: (out - targets["y"]).square().mean()
    return Model(torch.nn.Linear(3, width), {"input": torch.ones(2, 3)}, {"y": torch.zeros(2, width)}, loss)
"""


def test_a_user_module_beside_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FACTORY)
    words = ["--module", "mine:build", "--option", "width=5", "--out", "out", "--check"]
    done = subprocess.run(
        [sys.executable, "-m", "warpforge.export", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    model = json.loads((tmp_path / "out" / "manifest.json").read_text())["model"]
    assert (model["name"], model["options"]) == ("build", {"width": 5})


def test_help_and_mistakes_need_no_packages() -> None:
    """Without site packages nothing of the export is there, and the answers still come."""
    source = str(Path(__file__).parent.parent)
    script = f"import sys; sys.path.insert(0, {source!r}); from warpforge.export import command; "
    script += "sys.exit(command.main(sys.argv[1:]))"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-S", "-c", script, *words], capture_output=True, text=True, check=False)

    assert "RECIPE" in run("--help").stdout
    missing = run("mlp", "--out", "x")
    assert missing.returncode == 2
    assert missing.stderr.startswith("error: not installed: torch, ")
    assert "pip install" in missing.stderr
