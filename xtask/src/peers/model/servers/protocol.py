"""The line protocol that every server speaks, and what all of them need: the request and the exported tensors.

A server is started with one argument, a JSON request. It loads, compiles and warms up, writes `ready JSON`, and then
answers each line it reads: `run` with the nanoseconds of one run, `outputs PATH` with `ok` once the results of the last
run are in that safetensors file, `quit` by ending. `error MESSAGE` answers whatever went wrong. Standard output
belongs to the protocol: what libraries print goes to standard error.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np

WARM_UP_RUNS = 3
LONG_RUN_SECONDS = 15
"""After a run this long, more of them warm up nothing."""
LONGEST_MESSAGE = 400

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    export: Path
    """The exported model in f32."""
    export_bf16: Path | None
    """The same model exported in bf16, where the precision is bf16."""
    program: str
    """Which of its programs, such as `forward`."""
    precision: str
    """`f32` or `bf16`."""
    threads: int
    cpus: list[int]
    settings: dict[str, Any]
    cache: Path
    """Where compiled artifacts of this workload may be kept."""

    @property
    def directory(self) -> Path:
        """The export whose program and tensors have the precision asked for."""
        if self.precision == "f32":
            return self.export
        if self.export_bf16 is None:
            raise ValueError("there is no bf16 export of this model")
        return self.export_bf16

    def manifest(self) -> dict[str, Any]:
        """The manifest of the f32 export."""
        content: dict[str, Any] = json.loads((self.export / "manifest.json").read_text(encoding="utf-8"))
        return content

    def entry(self, directory: Path) -> dict[str, Any]:
        """What an export's manifest says of the program."""
        content = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
        for program in content["programs"]:
            if program["name"] == self.program:
                found: dict[str, Any] = program
                return found
        raise ValueError(f"{directory} has no program {self.program}")

    def forward_only(self, engine: str) -> None:
        """Refuses programs that a server does not carry."""
        if self.program != "forward":
            raise NotImplementedError(f"{engine}: the program {self.program} is not carried by this server")


class Engine(Protocol):
    """A model that is ready to run."""

    def run(self) -> None:
        """Runs once; the results are there when it returns."""

    def outputs(self) -> dict[str, Array]:
        """The results of the last run by their names in the manifest."""

    def about(self) -> dict[str, Any]:
        """Versions and what was chosen."""


def tensors(directory: Path, entry: dict[str, Any], roles: tuple[str, ...]) -> list[tuple[dict[str, Any], Array]]:
    """The arguments of a program that have one of these roles, with their content (bf16 as `ml_dtypes` has it).

    Those without a place in a file begin with the same number everywhere, as a step's state does.
    """
    from safetensors import safe_open

    files: dict[str, Any] = {}
    found = []
    for argument in entry["arguments"]:
        if argument["role"] not in roles:
            continue
        place = argument.get("tensor")
        if place is None:
            found.append((argument, np.full(argument["shape"], argument["initial"], np.float32)))
            continue
        if place["file"] not in files:
            files[place["file"]] = safe_open(str(directory / place["file"]), framework="flax")
        found.append((argument, np.asarray(files[place["file"]].get_tensor(place["key"]))))
    return found


def first_line(error: BaseException) -> str:
    """An error in one line; of a compiler's output, the line that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    stated = [line for line in lines if " error: " in line or line.startswith("error:")]
    text = " ".join((stated or lines)[:2]) or "no message"
    return f"{type(error).__name__}: {text}"[:LONGEST_MESSAGE]


def request_from(text: str) -> Request:
    """Reads a request."""
    content = json.loads(text)
    bf16 = content.get("export_bf16")
    return Request(
        export=Path(content["export"]),
        export_bf16=Path(bf16) if bf16 else None,
        program=content["program"],
        precision=content["precision"],
        threads=int(content["threads"]),
        cpus=[int(cpu) for cpu in content["cpus"]],
        settings=dict(content["settings"]),
        cache=Path(content["cache"]),
    )


def _check_cpus(request: Request) -> None:
    # A library that binds its threads has bound this one to a CPU of its own by now.
    allowed = os.sched_getaffinity(0)
    if not allowed <= set(request.cpus):
        raise RuntimeError(f"this process may run on the CPUs {sorted(allowed)}, not only on {request.cpus} as asked")


def _write(path: str, outputs: dict[str, Array]) -> None:
    from safetensors.numpy import save_file

    def plain(array: Array) -> Array:
        known = array.dtype in (np.float32, np.float64, np.int32, np.int64, np.bool_, np.uint8, np.int8)
        # bf16 and its like fit into f32 as they are.
        # Unlike `ascontiguousarray`, this keeps a scalar a scalar.
        return np.asarray(array if known else array.astype(np.float32), order="C")

    save_file({name: plain(array) for name, array in outputs.items()}, path)


def _answers() -> TextIO:
    """The real standard output, taken away from everything else in this process."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def serve(build: Callable[[Request], Engine]) -> None:
    """Builds the engine and answers until the end of input."""
    answers = _answers()

    def answer(line: str) -> None:
        answers.write(line.replace("\n", " ") + "\n")
        answers.flush()

    try:
        request = request_from(sys.argv[1])
        _check_cpus(request)
        request.cache.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        engine = build(request)
        built = time.perf_counter()
        for _ in range(WARM_UP_RUNS):
            begun = time.perf_counter()
            engine.run()
            if time.perf_counter() - begun > LONG_RUN_SECONDS:
                break
        about = {
            "threads": request.threads,
            "precision": request.precision,
            "build_ms": round(1e3 * (built - start)),
            "warm_up_ms": round(1e3 * (time.perf_counter() - built)),
            **engine.about(),
        }
    except Exception as error:
        answer(f"error {first_line(error)}")
        raise
    # Collecting garbage is Python's cost, not the engine's.
    gc.collect()
    gc.freeze()
    gc.disable()
    answer("ready " + json.dumps(about))
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "quit":
            break
        try:
            if word == "run":
                begin = time.perf_counter_ns()
                engine.run()
                answer(str(time.perf_counter_ns() - begin))
            elif word == "outputs":
                _write(rest, engine.outputs())
                answer("ok")
            else:
                answer(f"error unknown request {word!r}")
        except Exception as error:
            answer(f"error {first_line(error)}")
    # Destructors of engines with threads take their time and sometimes crash; nothing is left to be done.
    os._exit(0)
