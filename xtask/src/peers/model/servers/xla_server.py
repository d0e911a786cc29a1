"""XLA on the CPU through jaxlib's client: the exported StableHLO text, as it is.

XLA takes its options from the variable `XLA_FLAGS`, and the number of its threads from the CPUs it may run on.
"""

import os
from typing import Any

import jax
import jaxlib
from jaxlib import xla_client
from protocol import Array, Request, serve, tensors


class Xla:
    """A compiled program and its arguments on the device."""

    def __init__(self, request: Request) -> None:
        directory = request.directory
        entry = request.entry(directory)
        text = (directory / entry["file"]).read_text(encoding="utf-8")
        device = jax.devices("cpu")[0]
        options = xla_client.CompileOptions()
        backend: Any = device.client
        self.executable = backend.compile_and_load(text, xla_client.DeviceList((device,)), options)
        roles = tuple({argument["role"] for argument in entry["arguments"]})
        self.arguments = [jax.device_put(array, device) for _, array in tensors(directory, entry, roles)]
        jax.block_until_ready(self.arguments)
        self.names = [result["name"] for result in entry["results"]]
        self.results: list[Any] = []

    def run(self) -> None:
        """One execution, to its end."""
        shards = self.executable.execute_sharded(self.arguments)
        self.results = [parts[0] for parts in shards.disassemble_into_single_device_arrays()]
        jax.block_until_ready(self.results)

    def outputs(self) -> dict[str, Array]:
        """In the program's order."""
        import numpy as np

        return {name: np.asarray(result) for name, result in zip(self.names, self.results, strict=True)}

    def about(self) -> dict[str, Any]:
        """The version and the flags."""
        return {"engine": f"XLA of jaxlib {jaxlib.__version__}", "flags": os.environ.get("XLA_FLAGS", "")}


if __name__ == "__main__":
    serve(Xla)
