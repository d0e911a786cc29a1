"""IREE for the CPU: the exported StableHLO compiled ahead of time, run by the runtime's task system.

Settings: `flags` (of the compiler), `parameters` (weights are parameters of the module, which the compiler may pack
once, instead of arguments of each call).
"""

import hashlib
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import iree.compiler as compiler
import iree.runtime as runtime
import numpy as np
from protocol import Array, Request, serve, tensors

SCOPE = "model"
VERSION = metadata.version("iree-base-compiler")


class Iree:
    """A module on the task device, its function and its arguments."""

    def __init__(self, request: Request) -> None:
        if request.program.startswith("train-"):
            raise NotImplementedError("IREE: steps that hand their results on are not carried by this server")
        directory = request.directory
        entry = request.entry(directory)
        given = tensors(directory, entry, tuple({argument["role"] for argument in entry["arguments"]}))
        weights = [argument for argument, _ in given if argument["role"] in ("parameter", "buffer")]
        packed = bool(request.settings.get("parameters"))
        text = (directory / entry["file"]).read_text(encoding="utf-8")
        if packed:
            text = with_parameters(text, {argument["index"]: argument["tensor"]["key"] for argument in weights})
        binary = _compiled(text, list(request.settings.get("flags", [])), request.cache)
        cpus = ",".join(str(cpu) for cpu in request.cpus[: request.threads])
        runtime.flags.parse_flags(f"--task_topology_cpu_ids={cpus}")
        config = runtime.Config("local-task")
        self.device = config.device
        modules = []
        if packed:
            index = runtime.ParameterIndex()
            index.load(str(directory / "weights.safetensors"), format="safetensors")
            modules.append(runtime.create_io_parameters_module(config.vm_instance, index.create_provider(SCOPE)))
        modules.append(config.default_vm_modules[0])
        modules.append(runtime.VmModule.mmap(config.vm_instance, str(binary)))
        context = runtime.VmContext(config.vm_instance, modules)
        vm_function = modules[-1].lookup_function("main")
        self.call = runtime.FunctionInvoker(context, self.device, vm_function)
        self.arguments = [
            runtime.asdevicearray(self.device, array)
            for argument, array in given
            if not (packed and argument["role"] in ("parameter", "buffer"))
        ]
        self.names = [result["name"] for result in entry["results"]]
        self.results: Any = None

    def run(self) -> None:
        """One call; it returns once the results are there."""
        self.results = self.call(*self.arguments)

    def outputs(self) -> dict[str, Array]:
        """In the program's order."""
        several = self.results if isinstance(self.results, (tuple, list)) else [self.results]
        return {name: np.asarray(each) for name, each in zip(self.names, several, strict=True)}

    def about(self) -> dict[str, Any]:
        """The version."""
        return {"engine": f"IREE {VERSION}"}


def with_parameters(text: str, names: dict[int, str]) -> str:
    """The program with some of the entry function's arguments as parameters of the module."""
    start = text.index("func.func public @main(") + len("func.func public @main(")
    end = text.index(") -> ", start)
    arguments = re.findall(r"%arg(\d+): (tensor<[^>]*>)(?: \{[^}]*\})?", text[start:end])
    kept = [f"%arg{place}: {kind}" for place, kind in arguments if int(place) not in names]
    moved = [(place, kind) for place, kind in arguments if int(place) in names]
    stored = {place: f'#stream.parameter.named<"{SCOPE}"::"{names[int(place)]}">' for place, _ in moved}
    globals_ = "".join(f"  util.global private @p{place} = {stored[place]} : {kind}\n" for place, kind in moved)
    loads = "".join(f"    %arg{place} = util.global.load @p{place} : {kind}\n" for place, kind in moved)
    function = text.rindex("\n", 0, start) + 1
    # The signature is one line; the first op stands on the next.
    body = text.index("\n", end) + 1
    parts = [text[:function], globals_, text[function:start], ", ".join(kept), text[end:body], loads, text[body:]]
    return "".join(parts)


def _compiled(text: str, flags: list[str], cache: Path) -> Path:
    name = hashlib.sha256("\0".join([VERSION, text, *flags]).encode()).hexdigest()[:16]
    file = cache / f"iree-{name}.vmfb"
    if not file.is_file():
        partial = file.with_suffix(".partial")
        compiler.compile_str(
            text,
            input_type="stablehlo",
            target_backends=["llvm-cpu"],
            extra_args=["--iree-llvmcpu-target-cpu=host", *flags],
            output_file=str(partial),
        )
        partial.rename(file)
    return file


if __name__ == "__main__":
    serve(Iree)
