"""PyTorch on the CPU: eager, or compiled by `torch.compile`.

Settings: `compile` (none, or a mode of torch.compile), `freezing` (weights become constants that Inductor packs),
`cast` (`module`: weights and activations in bf16; `autocast`: chosen op by op), `channels_last` (of convolutions).
"""

import contextlib
import os
from typing import Any

import torch
import torch_model
from protocol import Array, Request, serve
from pytorch_training import Training


class PyTorch:
    """The recipe's own module."""

    def __init__(self, request: Request) -> None:
        torch.set_num_threads(request.threads)
        settings = request.settings
        self.autocast = request.precision == "bf16" and settings.get("cast") == "autocast"
        narrow = request.precision == "bf16" and not self.autocast
        self.module, self.inputs = torch_model.build(request, torch.bfloat16 if narrow else torch.float32)
        if settings.get("channels_last"):
            self.module = self.module.to(memory_format=torch.channels_last)
            self.inputs = {
                name: tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor
                for name, tensor in self.inputs.items()
            }
        mode = settings.get("compile")
        if mode:
            import torch._inductor.config as inductor

            inductor.freezing = bool(settings.get("freezing"))
            inductor.cpp.threads = request.threads
            self.called: Any = torch.compile(self.module, mode=None if mode == "default" else mode, dynamic=False)
        else:
            self.called = self.module
        self.returned: Any = None

    def run(self) -> None:
        """One forward pass."""
        context = torch.autocast("cpu", torch.bfloat16) if self.autocast else contextlib.nullcontext()
        with torch.inference_mode(), context:
            self.returned = self.called(**self.inputs)

    def outputs(self) -> dict[str, Array]:
        """By the path to each tensor in what the module returned."""
        from warpforge.export.outputs import flatten

        found = flatten(self.returned)
        return {name or "output": tensor.float().contiguous().numpy() for name, tensor in found.items()}

    def about(self) -> dict[str, Any]:
        """The version, and where threads are bound."""
        return {"engine": f"PyTorch {torch.__version__}", "places": os.environ.get("OMP_PLACES", "not bound")}


def build(request: Request) -> PyTorch | Training:
    """The engine for the program asked for."""
    return PyTorch(request) if request.program == "forward" else Training(request)


if __name__ == "__main__":
    serve(build)
