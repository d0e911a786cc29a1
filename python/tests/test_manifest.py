"""The manifest says what the programs really are."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from safetensors import safe_open

from warpforge.export.check import run_text
from warpforge.export.exporter import Settings, export
from warpforge.export.lower import place_of
from warpforge.export.recipes import RECIPES
from warpforge.export.recipes.llama import LlamaLora


def program(content: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in content["programs"] if each["name"] == name)
    return found


def signature(text: str) -> tuple[list[str], list[str]]:
    """The types of the entry function's arguments and results, as the text has them."""
    line = next(line for line in text.splitlines() if "@main(" in line)
    arguments, _, results = line.partition(") -> ")
    return re.findall(r"tensor<([^>]*)>", arguments), re.findall(r"tensor<([^>]*)>", results)


def as_type(entry: dict[str, Any]) -> str:
    return "x".join([*map(str, entry["shape"]), entry["dtype"]])


def test_arguments_and_results_are_those_of_the_text(mlp: Path, mlp_manifest: dict[str, Any]) -> None:
    assert [each["name"] for each in mlp_manifest["programs"]] == ["forward", "gradients", "sgd", "adamw"]
    for each in mlp_manifest["programs"]:
        text = (mlp / each["file"]).read_text()
        assert hashlib.sha256(text.encode()).hexdigest() == each["sha256"]
        arguments, results = signature(text)
        assert [as_type(entry) for entry in each["arguments"]] == arguments
        assert [as_type(entry) for entry in each["results"]] == results
        assert [entry["index"] for entry in each["arguments"]] == list(range(len(arguments)))


def test_names_and_roles_follow_the_model(mlp_manifest: dict[str, Any]) -> None:
    gradients = program(mlp_manifest, "gradients")
    assert [(entry["role"], entry["name"]) for entry in gradients["arguments"]] == [
        ("parameter", "up.weight"),
        ("parameter", "up.bias"),
        ("parameter", "down.weight"),
        ("parameter", "down.bias"),
        ("input", "x"),
        ("target", "label"),
    ]
    assert [(entry["role"], entry["name"]) for entry in gradients["results"]] == [
        ("loss", "loss"),
        ("gradient", "up.weight"),
        ("gradient", "up.bias"),
        ("gradient", "down.weight"),
        ("gradient", "down.bias"),
    ]
    state = [entry["name"] for entry in program(mlp_manifest, "adamw")["arguments"] if entry["role"] == "state"]
    assert state[:3] == ["step", "up.weight.exp_avg", "up.weight.exp_avg_sq"]


def test_every_named_tensor_is_in_its_file(mlp: Path, mlp_manifest: dict[str, Any]) -> None:
    for each in mlp_manifest["programs"]:
        for entry in [*each["arguments"], *each["results"]]:
            place = entry.get("tensor") or entry.get("reference")
            if place is not None:
                with safe_open(str(mlp / place["file"]), framework="np") as file:
                    assert file.get_slice(place["key"]).get_shape() == entry["shape"]


def test_module_values_hold_what_the_modules_returned(mlp: Path, mlp_manifest: dict[str, Any]) -> None:
    forward = program(mlp_manifest, "forward")
    text = (mlp / "forward.mlir").read_text()
    values = {(each["module"], each["kind"]): each["value"] for each in forward["module_values"]}
    assert set(values) == {("up", "value"), ("down", "value"), ("", "value")}
    assert f"return {values['', 'value']} :" in text
    # Cutting the program off at the value of `up` gives what the layer gives.
    up = values["up", "value"]
    lines = text.splitlines()
    cut = next(index for index, line in enumerate(lines) if line.strip().startswith(f"{up} = "))
    head = re.sub(r"-> \(.*\) \{$", "-> tensor<8x32xf32> {", next(line for line in lines if "@main(" in line))
    shorter = "\n".join([lines[0], head, *lines[2 : cut + 1], f"return {up} : tensor<8x32xf32>", "}", "}"])
    arguments = []
    for entry in forward["arguments"]:
        with safe_open(str(mlp / entry["tensor"]["file"]), framework="np") as file:
            arguments.append(file.get_tensor(entry["tensor"]["key"]))
    weight, bias, x = arguments[0], arguments[1], arguments[4]
    (found,) = run_text(shorter, arguments)
    assert abs(found - (x @ weight.T + bias)).max() < 1e-5


def test_gradients_reach_module_values_in_backward_order(mlp_manifest: dict[str, Any]) -> None:
    values = program(mlp_manifest, "gradients")["module_values"]
    kinds = [(each["kind"], each["module"]) for each in values]
    assert [module for kind, module in kinds if kind == "value"] == ["up", "down", ""]
    assert [module for kind, module in kinds if kind == "gradient"] == ["", "down", "up"]


def test_scopes_sort_values_by_module_and_direction(mlp: Path, mlp_manifest: dict[str, Any]) -> None:
    scopes = program(mlp_manifest, "gradients")["scopes"]
    places = {(each["module"], each["direction"]) for each in scopes}
    assert {("up", "forward"), ("down", "forward"), ("up", "backward"), ("down", "backward")} <= places
    text = (mlp / "gradients.mlir").read_text()
    for each in scopes:
        if each["function"] == "main":
            assert all(re.search(rf"{re.escape(value.split('#')[0])}\b", text) for value in each["values"])
    main = [value for each in scopes if each["function"] == "main" for value in each["values"]]
    assert len(main) == len(set(main))


def test_locations_name_the_innermost_module() -> None:
    assert place_of('loc("jit(f)/module:/module:a.0/linear/dot_general"("x.py":1:2))') == ("a.0", "forward")
    assert place_of('loc("jit(f)/transpose(jvp(module:))/module:a/add"("x.py":1:2))') == ("a", "backward")
    assert place_of('loc("jit(f)/loss/add")') is None
    assert place_of("loc(unknown)") is None


def test_unused_arguments_are_marked(tmp_path: Path) -> None:
    lora = LlamaLora(hidden=32, heads=4, key_value_heads=2, intermediate=48, vocabulary=50, sequence=8)
    export(lora.build(), tmp_path, Settings(programs=("forward",)))
    content = json.loads((tmp_path / "manifest.json").read_text())
    unused = [each["name"] for each in content["programs"][0]["arguments"] if not each["used"]]
    assert unused == ["model.rotary_emb.original_inv_freq"]
    trainable = [each["name"] for each in content["model"]["tensors"] if each["trainable"]]
    assert len(trainable) == 16
    assert all("lora" in name for name in trainable)


def test_the_same_seed_writes_the_same_files(mlp: Path, tmp_path: Path) -> None:
    export(RECIPES["mlp"]().build(seed=1), tmp_path, Settings(reference=True, seed=1))
    for file in mlp.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_without_weights_nothing_is_allocated(mlp: Path, tmp_path: Path) -> None:
    model = RECIPES["mlp"]().build(seed=1, weights=False)
    assert all(parameter.is_meta for parameter in model.module.parameters())
    export(model, tmp_path, Settings(weights=False))
    assert not (tmp_path / "weights.safetensors").exists()
    assert (tmp_path / "gradients.mlir").read_bytes() == (mlp / "gradients.mlir").read_bytes()
