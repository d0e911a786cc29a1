"""OpenVINO's CPU plugin on the model converted from PyTorch.

Settings: `source` (`onnx`: the ONNX file; `torch`: converted from the module by OpenVINO itself), `pinning` (the plugin
binds its threads), `hyper_threading`, `performance` (the hint; LATENCY unless stated).
"""

from typing import Any

import numpy as np
import onnx_file
import openvino as ov
import torch_model
from protocol import Array, Request, serve


class OpenVino:
    """A compiled model and one request for inference."""

    def __init__(self, request: Request) -> None:
        import torch

        request.forward_only("OpenVINO")
        settings = request.settings
        core = ov.Core()
        if settings.get("source", "onnx") == "onnx":
            model = core.read_model(str(onnx_file.path_of(request, "f32")))
        else:
            module, inputs = torch_model.build(request, torch.float32)
            flat = torch_model.Flat(module, list(inputs)).eval()
            model = ov.convert_model(flat, example_input=tuple(inputs.values()))
        given = onnx_file.inputs_of(request)
        model.reshape({place: list(tensor.shape) for place, tensor in enumerate(given.values())})
        properties = {
            "PERFORMANCE_HINT": settings.get("performance", "LATENCY"),
            "NUM_STREAMS": "1",
            "INFERENCE_NUM_THREADS": request.threads,
            "INFERENCE_PRECISION_HINT": request.precision,
            "ENABLE_CPU_PINNING": bool(settings.get("pinning")),
        }
        if "hyper_threading" in settings:
            properties["ENABLE_HYPER_THREADING"] = bool(settings["hyper_threading"])
        if "execution_mode" in settings:
            properties["EXECUTION_MODE_HINT"] = settings["execution_mode"]
        self.compiled = core.compile_model(model, "CPU", properties)
        self.request = self.compiled.create_infer_request()
        self.held = [ov.Tensor(tensor.numpy()) for tensor in given.values()]
        for place, tensor in enumerate(self.held):
            self.request.set_input_tensor(place, tensor)
        self.names = [result["name"] for result in request.entry(request.export)["results"]]
        self.precision = self.compiled.get_property("INFERENCE_PRECISION_HINT")

    def run(self) -> None:
        """One inference."""
        self.request.infer()

    def outputs(self) -> dict[str, Array]:
        """In the model's order."""
        count = len(self.compiled.outputs)
        arrays = [np.array(self.request.get_output_tensor(place).data, copy=True) for place in range(count)]
        return dict(zip(self.names, arrays, strict=True))

    def about(self) -> dict[str, Any]:
        """The version, and the precision it settled on."""
        return {"engine": f"OpenVINO {ov.__version__.split('-')[0]}", "inference_precision": str(self.precision)}


if __name__ == "__main__":
    serve(OpenVino)
