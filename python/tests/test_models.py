"""Models that are not recipes: what is handled, and what is said where it cannot be."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from warpforge.export.check import check
from warpforge.export.errors import ExportError
from warpforge.export.exporter import Settings, export
from warpforge.export.factory import as_model, named_inputs
from warpforge.export.model import Model
from warpforge.export.state import state_of

BOTH = Settings(programs=("forward", "gradients"), reference=True)


def square(returned: Any, _targets: Mapping[str, torch.Tensor]) -> torch.Tensor:
    squares: torch.Tensor = (returned * returned).sum()
    return squares


class Tied(nn.Module):
    """One matrix as embedding and as output layer, a constant held as an attribute, a layer called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.mix = nn.Linear(6, 6)
        self.out = nn.Linear(6, 11, bias=False)
        self.out.weight = self.embedding.weight
        self.scale = torch.linspace(0.5, 1.5, 6)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.mix(self.mix(self.embedding(tokens))) * self.scale + torch.arange(6)
        logits: torch.Tensor = self.out(hidden)
        return logits


def test_tied_weights_constants_and_repeated_calls(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Model(Tied(), {"tokens": torch.randint(11, (3, 4))}, loss=square)
    assert state_of(model.module).aliases == {"embedding.weight": ["out.weight"]}
    export(model, tmp_path, BOTH)
    assert max(each.relative for each in check(tmp_path)) < 1e-5
    content = json.loads((tmp_path / "manifest.json").read_text())
    roles = [(entry["role"], entry["name"]) for entry in content["programs"][0]["arguments"]]
    assert roles == [
        ("parameter", "embedding.weight"),
        ("parameter", "mix.weight"),
        ("parameter", "mix.bias"),
        ("buffer", "scale"),
        ("input", "tokens"),
    ]
    calls = [each["call"] for each in content["programs"][0]["module_values"] if each["module"] == "mix"]
    assert calls == [0, 1]


def test_the_module_is_left_as_it_was(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    export(Model(module, {"input": torch.randn(5, 3)}, loss=square), tmp_path, BOTH)
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert all("forward" not in vars(inner) for inner in module.modules())
    assert all(isinstance(parameter, nn.Parameter) for parameter in module.parameters())
    module(torch.randn(5, 3))


def test_training_returns_running_statistics(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    export(Model(module, {"input": torch.randn(5, 2, 8, 8)}, loss=square), tmp_path, BOTH)
    assert max(each.relative for each in check(tmp_path)) < 1e-4
    gradients = json.loads((tmp_path / "manifest.json").read_text())["programs"][1]
    buffers = [each["name"] for each in gradients["results"] if each["role"] == "buffer"]
    assert buffers == ["1.running_mean", "1.running_var", "1.num_batches_tracked"]


@pytest.mark.parametrize(("dtype", "name"), [(torch.bfloat16, "bf16"), (torch.float16, "f16")])
def test_half_precision(dtype: torch.dtype, name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).to(dtype)
    export(Model(module, {"input": torch.randn(3, 8).to(dtype)}, loss=square), tmp_path, BOTH)
    check(tmp_path)
    arguments = json.loads((tmp_path / "manifest.json").read_text())["programs"][0]["arguments"]
    assert {each["dtype"] for each in arguments} == {name}


def test_dropout_is_refused_in_training_and_left_out_in_evaluation(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    model = Model(module, {"input": torch.randn(2, 3)}, loss=square)
    with pytest.raises(ExportError, match="random numbers"):
        export(model, tmp_path, Settings(programs=("gradients",)))
    assert not (tmp_path / "manifest.json").exists()
    export(model, tmp_path, Settings(programs=("gradients",), gradient_mode="eval"))
    with pytest.raises(ExportError, match="random numbers"):
        export(model, tmp_path, Settings(programs=("gradients",)))


class Deciding(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x


class Unlowered(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.special.airy_ai(x)
        return found


@pytest.mark.parametrize(
    ("module", "reason"), [(Deciding(), "decides by a tensor's value"), (Unlowered(), "cannot lower this model")]
)
def test_untraceable_models_are_refused_with_a_reason(module: nn.Module, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=reason):
        export(Model(module, {"x": torch.ones(3)}), tmp_path, Settings(programs=("forward",)))


def test_what_a_factory_may_return() -> None:
    module = nn.Linear(3, 2)
    assert list(as_model((module, torch.ones(1, 3)), "f").inputs) == ["input"]
    assert list(as_model((module, {"input": torch.ones(1, 3)}), "f").inputs) == ["input"]
    with pytest.raises(ExportError, match="returned int"):
        as_model(3, "f")
    with pytest.raises(ExportError, match=r"do not fit Linear\.forward"):
        named_inputs(module, (torch.ones(1), torch.ones(1)))
    with pytest.raises(ExportError, match="`input` is float"):
        named_inputs(module, (1.0,))


def test_integers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    model = Model(nn.Embedding(3, 2), {"input": torch.tensor([2**40])})
    with pytest.raises(ExportError, match=r"outside of torch\.int32"):
        export(model, tmp_path, Settings(programs=("forward",)))


def test_references_in_double_precision(tmp_path: Path) -> None:
    torch.manual_seed(0)
    linear = nn.Linear(5, 3)
    model = Model(linear, {"input": torch.randn(4, 5)}, loss=square)
    settings = Settings(programs=("forward", "gradients"), reference=True, exact=True)
    assert export(model, tmp_path, settings).files["exact"] == "exact.safetensors"
    single = load_file(tmp_path / "reference.safetensors")
    double = load_file(tmp_path / "exact.safetensors")
    assert single.keys() == double.keys()
    for name, tensor in double.items():
        torch.testing.assert_close(tensor, single[name])
    weight, bias = linear.weight.detach().double(), linear.bias.detach().double()
    exact = (model.inputs["input"].double() @ weight.T + bias).float()
    assert torch.equal(double["forward.output.output"], exact)
    assert linear.weight.dtype == torch.float32
