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
        self.request, self.entry, self.device = request, entry, device
        self.names = [result["name"] for result in entry["results"]]
        self.results: list[Any] = []
        # A training step's results take the places of its arguments.
        results = {(each["role"], each["name"]): each["index"] for each in entry["results"]}
        steps = request.program.startswith("train-")
        keys = [(each["role"], each["name"]) for each in entry["arguments"]]
        self.carried = {place: results[key] for place, key in enumerate(keys) if key in results} if steps else {}
        self.arguments: list[Any] = []
        self._start()

    def _start(self) -> None:
        roles = tuple({argument["role"] for argument in self.entry["arguments"]})
        found = tensors(self.request.directory, self.entry, roles)
        self.arguments = [jax.device_put(array, self.device) for _, array in found]
        jax.block_until_ready(self.arguments)

    def run(self) -> None:
        """One execution, to its end."""
        shards = self.executable.execute_sharded(self.arguments)
        self.results = [parts[0] for parts in shards.disassemble_into_single_device_arrays()]
        jax.block_until_ready(self.results)
        for place, result in self.carried.items():
            self.arguments[place] = self.results[result]

    def outputs(self) -> dict[str, Array]:
        """In the program's order; of a training step, what the first one from the exported state gives."""
        import numpy as np

        if self.carried:
            self._start()
            self.run()
        return {name: np.asarray(result) for name, result in zip(self.names, self.results, strict=True)}

    def about(self) -> dict[str, Any]:
        """The version and the flags."""
        return {"engine": f"XLA of jaxlib {jaxlib.__version__}", "flags": os.environ.get("XLA_FLAGS", "")}


if __name__ == "__main__":
    serve(Xla)
