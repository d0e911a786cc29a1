"""Runs the written programs with XLA on the CPU and compares them with PyTorch.

What is run is the text in the files, with the tensors in the files: the very things another program will read.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpforge.export import manifest
from warpforge.export.errors import ExportError


@dataclass(frozen=True)
class Difference:
    """How far one result is from PyTorch's."""

    program: str
    role: str
    name: str
    relative: float
    """The largest difference, as a share of the largest magnitude of the result."""


TOLERANCES = {"f32": 2e-4, "f64": 1e-9, "bf16": 6e-2, "f16": 1e-2}
"""How far a result may be from PyTorch's: both sum in another order. Other element types must be equal."""


NEGLIGIBLE = 1e-2
"""Results of this share of the largest one of their role count as that large.

Some gradients are zero in exact arithmetic (a bias that softmax cancels), and what is computed is rounding only. With
f32's tolerance that allows 2e-6 of the largest gradient: the roundings (6e-8 each) of some thirty terms of that size.
"""

Array = np.ndarray[Any, Any]


def run_text(text: str, arguments: Sequence[Any]) -> list[Array]:
    """The results of a program's entry function for these arguments."""
    import jax
    from jaxlib import xla_client

    device = jax.devices("cpu")[0]
    backend: Any = device.client
    options = xla_client.CompileOptions()
    # The programs run once: compiling quickly matters, running quickly does not.
    debug = options.executable_build_options.debug_options
    debug.xla_backend_optimization_level = 0
    debug.xla_llvm_disable_expensive_passes = True
    devices = xla_client.DeviceList((device,))
    executable = backend.compile_and_load(text, devices, options)
    buffers = [jax.device_put(np.asarray(argument), device) for argument in arguments]
    shards = executable.execute_sharded(buffers)
    return [np.asarray(parts[0]) for parts in shards.disassemble_into_single_device_arrays()]


def check(directory: Path) -> list[Difference]:
    """Compares every result that has a reference; raises when one is too far away."""
    content = json.loads((directory / manifest.FILE).read_text(encoding="utf-8"))
    files = _Files(directory)
    found = []
    for program in content["programs"]:
        results = program["results"]
        if not any("reference" in result for result in results):
            continue
        arguments = [files.argument(argument) for argument in program["arguments"]]
        text = (directory / program["file"]).read_text(encoding="utf-8")
        values = run_text(text, arguments)
        pairs = [
            (result, value, files.tensor(result["reference"]))
            for result, value in zip(results, values, strict=True)
            if "reference" in result
        ]
        scales: dict[str, float] = {}
        for result, _, expected in pairs:
            scales[result["role"]] = max(scales.get(result["role"], 0.0), _largest(expected))
        for result, value, expected in pairs:
            relative = relative_difference(value, expected, scales[result["role"]] * NEGLIGIBLE)
            found.append(Difference(program["name"], result["role"], result["name"], relative))
            allowed = TOLERANCES.get(result["dtype"], 0.0)
            if not relative <= allowed:
                raise ExportError(
                    f"{program['name']}: {result['role']} {result['name']} differs from PyTorch by {relative:.2e}"
                    f" of its largest value; {allowed:.0e} is allowed"
                )
    return found


def relative_difference(value: Array, expected: Array, least_scale: float = 0.0) -> float:
    """The largest difference as a share of the largest expected magnitude, or of `least_scale` where that is larger."""
    if value.shape != expected.shape:
        return float("inf")
    if value.size == 0:
        return 0.0
    scale = max(_largest(expected), least_scale)
    worst = float(np.max(np.abs(value.astype(np.float64) - expected.astype(np.float64))))
    return worst / scale if scale > 0 else worst


def _largest(array: Array) -> float:
    return float(np.max(np.abs(array.astype(np.float64)))) if array.size else 0.0


class _Files:
    """The safetensors files of an export, each opened once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.open: dict[str, Any] = {}

    def argument(self, argument: dict[str, Any]) -> Array:
        """An argument's content: a tensor of a file, or what every element is at first."""
        if "tensor" in argument:
            return self.tensor(argument["tensor"])
        kinds = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
        return np.full(argument["shape"], argument.get("initial", 0.0), kinds.get(argument["dtype"], np.float32))

    def tensor(self, place: dict[str, str]) -> Array:
        from safetensors import safe_open

        if place["file"] not in self.open:
            self.open[place["file"]] = safe_open(str(self.directory / place["file"]), framework="flax")
        return np.asarray(self.open[place["file"]].get_tensor(place["key"]))
