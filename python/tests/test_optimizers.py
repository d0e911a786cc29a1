"""The optimizer programs take the steps that `torch.optim` takes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from warpforge.export.check import check, run_text
from warpforge.export.exporter import Settings, export
from warpforge.export.model import Model
from warpforge.export.optimizers import AdamW, Sgd

RATES = (0.1, 0.05, 0.02)

CASES: list[tuple[str, Settings, Callable[..., torch.optim.Optimizer]]] = [
    ("sgd", Settings(programs=("sgd",)), lambda given: torch.optim.SGD(given, lr=0.1, momentum=0.9)),
    (
        "sgd",
        Settings(programs=("sgd",), sgd=Sgd(momentum=0.8, weight_decay=0.1, nesterov=True)),
        lambda given: torch.optim.SGD(given, lr=0.1, momentum=0.8, weight_decay=0.1, nesterov=True),
    ),
    ("adamw", Settings(programs=("adamw",)), lambda given: torch.optim.AdamW(given, lr=0.1)),
    (
        "adamw",
        Settings(programs=("adamw",), adamw=AdamW(0.8, 0.99, 1e-6, 0.2)),
        lambda given: torch.optim.AdamW(given, lr=0.1, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.2),
    ),
]


@pytest.mark.parametrize(("name", "settings", "optimizer"), CASES)
def test_steps_are_those_of_pytorch(
    name: str,
    settings: Settings,
    optimizer: Callable[..., torch.optim.Optimizer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # torchax registers itself as an accelerator, but cannot answer what the optimizer asks one.
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    torch.manual_seed(5)
    module = torch.nn.Linear(7, 5)
    export(Model(module, {"input": torch.randn(2, 7)}), tmp_path, settings)
    program = json.loads((tmp_path / "manifest.json").read_text())["programs"][0]
    text = (tmp_path / f"{name}.mlir").read_text()
    values: dict[tuple[str, str], Any] = {
        ("parameter", key): tensor.detach().numpy().copy() for key, tensor in module.named_parameters()
    }
    reference = optimizer(module.parameters())
    for rate in RATES:
        gradients = {key: torch.randn(tensor.shape) for key, tensor in module.named_parameters()}
        reference.param_groups[0]["lr"] = rate
        for key, tensor in module.named_parameters():
            tensor.grad = gradients[key]
        reference.step()
        arguments: list[Any] = []
        for entry in program["arguments"]:
            place = (entry["role"], entry["name"])
            if entry["role"] == "gradient":
                arguments.append(gradients[entry["name"]].numpy())
            elif entry["role"] == "hyperparameter":
                arguments.append(np.float32(rate))
            else:
                arguments.append(values.get(place, np.full(entry["shape"], entry.get("initial"), np.float32)))
        for entry, value in zip(program["results"], run_text(text, arguments), strict=True):
            values[entry["role"], entry["name"]] = value
    for key, tensor in module.named_parameters():
        np.testing.assert_allclose(values["parameter", key], tensor.detach().numpy(), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["train-sgd", "train-adamw"])
def test_a_whole_step_is_that_of_pytorch_and_gives_its_places_on(name: str, tmp_path: Path) -> None:
    torch.manual_seed(6)
    module = torch.nn.Linear(7, 5)
    model = Model(
        module,
        {"input": torch.randn(2, 7)},
        {"wanted": torch.randn(2, 5)},
        lambda found, targets: torch.nn.functional.mse_loss(found, targets["wanted"]),
    )
    export(model, tmp_path, Settings(programs=(name,), reference=True, learning_rate=0.1))
    compared = check(tmp_path)
    assert {each.name for each in compared} >= {"loss", f"weight.{'momentum' if name == 'train-sgd' else 'exp_avg'}"}
    text = (tmp_path / f"{name}.mlir").read_text()
    program = json.loads((tmp_path / "manifest.json").read_text())["programs"][0]
    places = {(entry["role"], entry["name"]): entry["index"] for entry in program["results"]}
    header = text[text.index("@main(") : text.index(") -> ", text.index("@main("))]
    arguments = header.split("%arg")[1:]
    assert len(arguments) == len(program["arguments"])
    for entry, written in zip(program["arguments"], arguments, strict=True):
        place = places.get((entry["role"], entry["name"]))
        assert (f"tf.aliasing_output = {place} : i32" in written) == (place is not None)
