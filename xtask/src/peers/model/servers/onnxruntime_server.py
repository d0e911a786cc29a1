"""ONNX Runtime's CPU provider on the model converted from PyTorch, with all graph optimizations.

Settings: `transformers` (also fused by `onnxruntime.transformers` as this kind of model), `affinity` (each worker on
its own CPU), `spinning` (workers wait busily), `flush_denormals`.
"""

import os
from typing import Any

import numpy as np
import onnx_file
import onnxruntime as ort
from protocol import Array, Request, first_line, serve


class OnnxRuntime:
    """A session with inputs and outputs bound to memory of its own."""

    def __init__(self, request: Request) -> None:
        request.forward_only("ONNX Runtime")
        settings = request.settings
        onnx_file.raise_refusal(request, f"onnxruntime {ort.__version__}")
        path = onnx_file.path_of(request, request.precision)
        kind = settings.get("transformers")
        if kind:
            path = self._fused(request, str(path), kind)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads = request.threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if settings.get("spinning") else "0")
        if settings.get("flush_denormals"):
            options.add_session_config_entry("session.set_denormal_as_zero", "1")
        if settings.get("affinity") and request.threads > 1:
            # The calling thread works too; the others are counted from 1 here, like the processors.
            os.sched_setaffinity(0, {request.cpus[0]})
            places = ";".join(str(cpu + 1) for cpu in request.cpus[1 : request.threads])
            options.add_session_config_entry("session.intra_op_thread_affinities", places)
        self.session = self._opened(request, path, options)
        given = onnx_file.inputs_of(request)
        self.binding = self.session.io_binding()
        self.held = []
        for wanted in self.session.get_inputs():
            array = given[wanted.name].numpy()
            if wanted.type == "tensor(bfloat16)":
                from ml_dtypes import bfloat16

                bits = array.astype(bfloat16).view(np.uint16)
                value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
            else:
                value = ort.OrtValue.ortvalue_from_numpy(array)
            self.held.append(value)
            self.binding.bind_ortvalue_input(wanted.name, value)
        for result in self.session.get_outputs():
            self.binding.bind_output(result.name, "cpu")
        self.names = [result["name"] for result in request.entry(request.export)["results"]]

    @staticmethod
    def _opened(request: Request, path: Any, options: Any) -> Any:
        try:
            return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            onnx_file.keep_refusal(request, f"onnxruntime {ort.__version__}", first_line(error))
            raise

    @staticmethod
    def _fused(request: Request, path: str, kind: str) -> Any:
        from onnxruntime.transformers import optimizer

        file = request.cache / f"ort-{kind}-{request.precision}" / "model.onnx"
        if not file.is_file():
            options = request.manifest()["model"]["options"]
            heads, hidden = int(options["heads"]), int(options["hidden"])
            fused = optimizer.optimize_model(path, model_type=kind, num_heads=heads, hidden_size=hidden, opt_level=1)
            file.parent.mkdir(parents=True, exist_ok=True)
            fused.save_model_to_file(str(file.with_suffix(".partial.onnx")), use_external_data_format=True)
            file.with_suffix(".partial.onnx").rename(file)
        return file

    def run(self) -> None:
        """One run with the bound memory."""
        self.session.run_with_iobinding(self.binding)

    def outputs(self) -> dict[str, Array]:
        """In the model's order."""
        values = self.binding.copy_outputs_to_cpu()
        return dict(zip(self.names, values, strict=True))

    def about(self) -> dict[str, Any]:
        """The version."""
        return {"engine": f"ONNX Runtime {ort.__version__}"}


if __name__ == "__main__":
    serve(OnnxRuntime)
