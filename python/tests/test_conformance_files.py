"""Names, files and the widening of programs: what needs no JAX to be right."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from conformance import corpus, naming, second_oracle, tensor_file, wide


def test_stems_are_short_and_distinct() -> None:
    long = [naming.stem("x" * 300), naming.stem("x" * 301)]
    assert long[0] != long[1]
    assert all(len(stem) <= 100 for stem in long)
    assert naming.stem("cos_shape=f32[20,20]").startswith("cos_shape_f32_20_20-")
    assert naming.distinct(["a", "b", "a"]) == ["a", "b", "a#2"]
    assert naming.seed("a") == naming.seed("a") != naming.seed("b")


@pytest.mark.parametrize(
    ("array", "dtype", "shape"),
    [
        (np.arange(6, dtype=np.int16).reshape(2, 3), "I16", [2, 3]),
        (np.array(True), "BOOL", []),
        (np.ones(3, ml_dtypes.bfloat16), "BF16", [3]),
        (np.ones((2,), np.complex128), "F64", [2, 2]),
        (np.ones((2,), ml_dtypes.float8_e4m3b11fnuz), "U8", [2]),
        (np.zeros((0, 4), np.float32), "F32", [0, 4]),
    ],
)
def test_tensors_of_every_type_have_a_place(
    tmp_path: Path, array: tensor_file.Array, dtype: str, shape: list[int]
) -> None:
    assert tensor_file.encoded(array) == (dtype, shape, array.tobytes())
    path = tmp_path / "a.safetensors"
    tensor_file.write(path, {"input.0": array, "output.0": array})
    assert tensor_file.read(path) == {"input.0": array.tobytes(), "output.0": array.tobytes()}
    header_length = int.from_bytes(path.read_bytes()[:8], "little")
    assert header_length % 8 == 0
    assert json.loads(path.read_bytes()[8 : 8 + header_length])["input.0"]["shape"] == shape


def test_an_unfinished_line_of_the_index_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "index.jsonl").write_text('{"name": "a", "file": "a-1"}\n{"name": "b", "fi')
    assert [row["name"] for row in corpus.index(tmp_path)] == ["a"]


def test_programs_are_widened() -> None:
    text = "func.func @main(%a: tensor<2x3xf32>, %b: tensor<bf16>) -> tensor<4xi32>"
    assert wide.widened(text) == "func.func @main(%a: tensor<2x3xf64>, %b: tensor<f64>) -> tensor<4xi32>"
    infinity = "%0 = stablehlo.constant dense<0xFF800000> : tensor<f32>"
    assert wide.widened(infinity) == "%0 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>"
    blob = '%0 = stablehlo.constant dense<"0x803F0040"> : tensor<2xbf16>'
    assert wide.widened(blob) == '%0 = stablehlo.constant dense<"0x000000000000F03F0000000000000040"> : tensor<2xf64>'


def test_arrays_are_widened() -> None:
    narrow = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.testing.assert_array_equal(wide.wide_array(narrow.tobytes(), "tensor<2xbf16>"), [1.5, -2.0])
    pair = np.array([1 + 2j], np.complex64)
    np.testing.assert_array_equal(wide.wide_array(pair.tobytes(), "tensor<1xcomplex<f32>>"), [1 + 2j])
    flags = np.array([[True, False]])
    np.testing.assert_array_equal(wide.wide_array(flags.tobytes(), "tensor<1x2xi1>"), flags)


def test_printed_elements_are_read() -> None:
    assert second_oracle._words("[[1, 2], [3, 4]]") == ["1", "2", "3", "4"]
    assert second_oracle._words("[(1.0,2.0), (3.0,4.0)]") == ["1.0,2.0", "3.0,4.0"]
    assert second_oracle._number("0x7F800000", np.dtype(np.float32)) == np.inf
    assert second_oracle._number("1.0,-2.0", np.dtype(np.complex64)) == 1 - 2j
    assert second_oracle._number("true", np.dtype(bool)) is True


def test_the_versions_are_those_of_the_exporter() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    for package in ("jax", "jaxlib"):
        pins = [[pin for pin in extras[extra] if pin.startswith(f"{package}==")] for extra in ("export", "conformance")]
        assert pins[0] == pins[1] != []
