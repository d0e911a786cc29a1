"""The model as an ONNX file, converted from PyTorch once and kept beside the export."""

import json
import shutil
from pathlib import Path

import torch
import torch_model
from protocol import Request

OPSET = 20
REFUSAL = "onnx-refused.json"


def path_of(request: Request, dtype: str) -> Path:
    """The ONNX file whose weights are of this type (`f32` or `bf16`), made if there is none."""
    base = request.export if dtype == "f32" else request.export_bf16
    if base is None:
        raise ValueError("there is no bf16 export of this model")
    folder = base / "onnx"
    file = folder / f"{request.program}.onnx"
    if file.is_file():
        return file
    partial = base / "onnx.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    module, inputs = torch_model.build(request, torch.float32 if dtype == "f32" else torch.bfloat16)
    flat = torch_model.Flat(module, list(inputs)).eval()
    # A result may have the name of an input, which a file must not.
    names = [f"output.{result['name']}" for result in request.entry(base)["results"]]
    with torch.inference_mode(False), torch.no_grad():
        torch.onnx.export(
            flat,
            tuple(inputs.values()),
            str(partial / file.name),
            input_names=list(inputs),
            output_names=names,
            opset_version=OPSET,
            dynamo=True,
            external_data=True,
            verbose=False,
        )
    partial.rename(folder)
    return file


def inputs_of(request: Request) -> dict[str, torch.Tensor]:
    """The inputs by name, as PyTorch's own module takes them (floats in f32)."""
    return torch_model.build_inputs(request, torch.float32)


def keep_refusal(request: Request, reader: str, reason: str) -> None:
    """Notes that a reader cannot use the bf16 file, and removes it: nobody else reads it, and it takes a gigabyte."""
    if request.precision != "bf16" or request.export_bf16 is None:
        return
    shutil.rmtree(request.export_bf16 / "onnx", ignore_errors=True)
    (request.export_bf16 / REFUSAL).write_text(json.dumps({"reader": reader, "reason": reason}), encoding="utf-8")


def raise_refusal(request: Request, reader: str) -> None:
    """Fails as this reader failed before, without converting the model again."""
    if request.precision != "bf16" or request.export_bf16 is None:
        return
    file = request.export_bf16 / REFUSAL
    if file.is_file():
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["reader"] == reader:
            raise NotImplementedError(f"{found['reason']} (as before)")
