"""The last arbiter: programs of one function of one argument, computed by mpmath with as many digits as it takes.

Also for complex numbers, where neither MPFR nor a wider float helps against XLA's own formulas.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from conformance import corpus, tensor_file, wide
from conformance.tensor_file import Array

PRECISION_BITS = 300

CALL = re.compile(r"(?:stablehlo|chlo)\.[a-z_0-9]+")
ARGUMENT = re.compile(r"@main\(%arg0: (tensor<[^ {]*>)[ {)]")

mp = mpmath.mp.clone()
mp.prec = PRECISION_BITS

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "stablehlo.abs": abs,
    "stablehlo.cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "stablehlo.cosine": mp.cos,
    "stablehlo.exponential": mp.exp,
    "stablehlo.exponential_minus_one": mp.expm1,
    "stablehlo.log": mp.log,
    "stablehlo.log_plus_one": lambda x: mp.log(1 + x),
    "stablehlo.logistic": lambda x: 1 / (1 + mp.exp(-x)),
    "stablehlo.rsqrt": lambda x: 1 / mp.sqrt(x),
    "stablehlo.sine": mp.sin,
    "stablehlo.sqrt": mp.sqrt,
    "stablehlo.tan": mp.tan,
    "stablehlo.tanh": mp.tanh,
    "chlo.acos": mp.acos,
    "chlo.acosh": mp.acosh,
    "chlo.asin": mp.asin,
    "chlo.asinh": mp.asinh,
    "chlo.atan": mp.atan,
    "chlo.atanh": mp.atanh,
    "chlo.bessel_i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
    "chlo.cosh": mp.cosh,
    "chlo.digamma": mp.digamma,
    "chlo.erf": mp.erf,
    "chlo.erf_inv": mp.erfinv,
    "chlo.erfc": mp.erfc,
    "chlo.lgamma": lambda x: mp.log(abs(mp.gamma(x))),
    "chlo.sinh": mp.sinh,
    "chlo.tan": mp.tan,
}


def evaluate(text: str, content: bytes) -> Array:
    """The result of a program of one function; its argument is given by its bytes."""
    calls = CALL.findall(text)
    argument = ARGUMENT.search(text)
    if len(calls) != 1 or calls[0] not in FUNCTIONS or argument is None:
        raise ValueError(f"not one function of one argument: {calls[:3]}")
    values = wide.wide_array(content, argument.group(1))
    function = FUNCTIONS[calls[0]]
    results = [_one(function, value) for value in values.ravel().tolist()]
    real = values.dtype.kind != "c" or calls[0] == "stablehlo.abs"
    return np.array(results, np.float64 if real else np.complex128).reshape(values.shape)


def _one(function: Callable[[Any], Any], value: float | complex) -> float | complex:
    if isinstance(value, complex):
        result = function(mp.mpc(value.real, value.imag))
        return float(result) if isinstance(result, mp.mpf) else complex(result)
    try:
        result = function(mp.mpf(value))
    except ValueError:
        return float("nan")
    # Outside of its domain a function goes on among complex numbers.
    return float("nan") if isinstance(result, mp.mpc) and result.imag != 0 else float(mp.re(result))


def add(folder: Path, names: Iterable[str] | None) -> None:
    """Writes `<file>.exact.safetensors` for the cases named, or all; a line says why where it cannot."""
    chosen = None if names is None else set(names)
    for row in corpus.index(folder):
        if "file" not in row or (chosen is not None and row["name"] not in chosen):
            continue
        target = folder / f"{row['file']}.exact.safetensors"
        if target.exists():
            continue
        text = (folder / f"{row['file']}.mlir").read_text()
        try:
            result = evaluate(text, tensor_file.read(folder / f"{row['file']}.safetensors")["input.0"])
        except (ValueError, KeyError, TypeError) as error:
            sys.stdout.write(json.dumps({"name": row["name"], "reason": str(error)[:200]}) + "\n")
            continue
        tensor_file.write(target, {"output.0": result})
