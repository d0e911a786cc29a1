"""Cases made from JAX's harnesses, in processes of their own: JAX has to be set up before it is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conformance import corpus, tensor_file


def conformance(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "conformance", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    conformance("names", "--folder", str(folder))
    names = [name for name, group in sorted(groups(folder).items()) if group in ("cos", "rev")]
    (folder / "wanted").write_text("\n".join(names))
    conformance("corpus", "--folder", str(folder), "--names", str(folder / "wanted"), "--jobs", "1")
    return folder


def groups(folder: Path) -> dict[str, str]:
    loaded: dict[str, str] = json.loads((folder / "names.json").read_text())
    return loaded


def test_there_are_thousands_of_cases(folder: Path) -> None:
    assert len(groups(folder)) > 5000
    assert len(set(groups(folder).values())) > 120


def test_a_case_has_a_program_inputs_and_outputs(folder: Path) -> None:
    rows = {row["name"]: row for row in corpus.index(folder)}
    assert not [row for row in rows.values() if "failed" in row]
    cosine = next(row for row in rows.values() if row["group"] == "cos" and "float32" in row["name"])
    assert "stablehlo.cosine" in (folder / f"{cosine['file']}.mlir").read_text()
    tensors = tensor_file.read(folder / f"{cosine['file']}.safetensors")
    values = {name: np.frombuffer(content, np.float32) for name, content in tensors.items()}
    np.testing.assert_allclose(values["output.0"], np.cos(values["input.0"]), rtol=1e-5)


def test_what_was_made_is_not_made_again(folder: Path) -> None:
    before = (folder / "index.jsonl").read_text()
    conformance("corpus", "--folder", str(folder), "--names", str(folder / "wanted"), "--jobs", "1")
    assert (folder / "index.jsonl").read_text() == before


def test_other_oracles_agree(folder: Path) -> None:
    row = next(row for row in corpus.index(folder) if row["group"] == "cos" and "float32" in row["name"])
    (folder / "one").write_text(row["name"])
    for command in ("second", "wide"):
        conformance(command, "--folder", str(folder), "--names", str(folder / "one"))
    outputs = tensor_file.read(folder / f"{row['file']}.safetensors")["output.0"]
    second = tensor_file.read(folder / f"{row['file']}.second.safetensors")["output.0"]
    wide = tensor_file.read(folder / f"{row['file']}.wide.safetensors")["output.0"]
    expected = np.frombuffer(wide, np.float64)
    for content in (outputs, second):
        np.testing.assert_allclose(np.frombuffer(content, np.float32), expected, rtol=1e-5, atol=1e-7)
