"""Functions of one number, correctly rounded: every input of 16 bits, and a million of 32.

MPFR computes them with 128 bits; the nearest f64 is kept, which is within 2^-29 ULP of an f32. Files: `inputs.f32` has
the sample, `<op>.<type>` the results for each input in order, all little-endian. Inputs of 16 bits are all patterns in
order. A test compares every function with mpmath, which shares nothing with MPFR.
"""

from __future__ import annotations

import math
import multiprocessing
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
from gmpy2 import mpfr

from conformance import corpus

PRECISION_BITS = 128
SAMPLES_PER_KIND = 500_000
TYPES = ("f16", "bf16", "f32")

Number = Any
Function = Callable[[Number], Number]


def _logistic(x: Number) -> Number:
    return 1 / (1 + gmpy2.exp(-x))


def _rsqrt(x: Number) -> Number:
    # Of negative zero it is negative infinity, which MPFR's own says otherwise.
    return 1 / gmpy2.sqrt(x)


def _whole(function: Function) -> Function:
    """A rounding that leaves infinities, which the library has no whole numbers for, as they are."""
    return lambda x: x if gmpy2.is_infinite(x) else mpfr(function(x))


def _sign(x: Number) -> Number:
    return x if gmpy2.is_nan(x) or x == 0 else mpfr(gmpy2.sign(x))


def _is_pole(x: Number) -> bool:
    return bool(gmpy2.is_finite(x) and x <= 0 and x == gmpy2.floor(x))


def _lgamma(x: Number) -> Number:
    return gmpy2.inf() if _is_pole(x) else gmpy2.lgamma(x)[0]


def _digamma(x: Number) -> Number:
    # Also at zero, where it has a pole with a different sign on each side: the op is defined so.
    return gmpy2.nan() if _is_pole(x) else gmpy2.digamma(x)


def _erf_inv(x: Number) -> Number:
    from scipy.special import erfinv

    if gmpy2.is_nan(x) or abs(x) > 1:
        return gmpy2.nan()
    if x == 0 or abs(x) == 1:
        return x if x == 0 else x * gmpy2.inf()
    y = mpfr(float(erfinv(float(x))))
    slope = gmpy2.sqrt(gmpy2.const_pi()) / 2
    # Each step doubles the digits, of which an f64 brings 15.
    for _ in range(2):
        y -= (gmpy2.erf(y) - x) * slope * gmpy2.exp(y * y)
    return y


def _bessel_i1e(x: Number) -> Number:
    if gmpy2.is_nan(x) or x == 0:
        return x
    if gmpy2.is_infinite(x):
        return mpfr(0)
    size = abs(x)
    if size < 32:
        half = size / 2
        term = half
        total = term
        for k in range(1, 400):
            term *= half * half / (k * (k + 1))
            total += term
            if term < total * mpfr("1e-40"):
                break
        total *= gmpy2.exp(-size)
    else:
        term = total = mpfr(1)
        for k in range(1, 60):
            following = -term * (4 - (2 * k - 1) ** 2) / (k * 8 * size)
            # The series is asymptotic: its terms grow again beyond what it can give.
            if abs(following) >= abs(term) or abs(following) < mpfr("1e-40"):
                break
            term = following
            total += term
        total /= gmpy2.sqrt(2 * gmpy2.const_pi() * size)
    return total if x > 0 else -total


FUNCTIONS: dict[str, Function] = {
    "stablehlo.abs": abs,
    "stablehlo.cbrt": gmpy2.cbrt,
    "stablehlo.ceil": _whole(gmpy2.ceil),
    "stablehlo.cosine": gmpy2.cos,
    "stablehlo.exponential": gmpy2.exp,
    "stablehlo.exponential_minus_one": gmpy2.expm1,
    "stablehlo.floor": _whole(gmpy2.floor),
    "stablehlo.log": gmpy2.log,
    "stablehlo.log_plus_one": gmpy2.log1p,
    "stablehlo.logistic": _logistic,
    "stablehlo.negate": lambda x: -x,
    "stablehlo.round_nearest_afz": _whole(gmpy2.rint_round),
    "stablehlo.round_nearest_even": _whole(gmpy2.rint),
    "stablehlo.rsqrt": _rsqrt,
    "stablehlo.sign": _sign,
    "stablehlo.sine": gmpy2.sin,
    "stablehlo.sqrt": gmpy2.sqrt,
    "stablehlo.tan": gmpy2.tan,
    "stablehlo.tanh": gmpy2.tanh,
    "chlo.acos": gmpy2.acos,
    "chlo.acosh": gmpy2.acosh,
    "chlo.asin": gmpy2.asin,
    "chlo.asinh": gmpy2.asinh,
    "chlo.atan": gmpy2.atan,
    "chlo.atanh": gmpy2.atanh,
    "chlo.bessel_i1e": _bessel_i1e,
    "chlo.cosh": gmpy2.cosh,
    "chlo.digamma": _digamma,
    "chlo.erf": gmpy2.erf,
    "chlo.erf_inv": _erf_inv,
    "chlo.erfc": gmpy2.erfc,
    "chlo.lgamma": _lgamma,
    "chlo.sinh": gmpy2.sinh,
    "chlo.square": lambda x: x * x,
    "chlo.tan": gmpy2.tan,
    # Answers are 0 and 1.
    "stablehlo.is_finite": lambda x: mpfr(gmpy2.is_finite(x)),
    "chlo.is_inf": lambda x: mpfr(gmpy2.is_infinite(x)),
    "chlo.is_neg_inf": lambda x: mpfr(gmpy2.is_infinite(x) and x < 0),
    "chlo.is_pos_inf": lambda x: mpfr(gmpy2.is_infinite(x) and x > 0),
}


def sample() -> npt.NDArray[np.float32]:
    """A million numbers: half of them even over all patterns, half of them of sizes where functions bend."""
    random = np.random.Generator(np.random.PCG64(1))
    strata = np.arange(SAMPLES_PER_KIND, dtype=np.uint64) * np.uint64(2**32) // np.uint64(SAMPLES_PER_KIND)
    jitter = random.integers(0, 2**32 // SAMPLES_PER_KIND, SAMPLES_PER_KIND, dtype=np.uint64)
    patterns = (strata + jitter).astype(np.uint32).view(np.float32)
    sizes = np.exp2(random.uniform(-20, 8, SAMPLES_PER_KIND)).astype(np.float32)
    signs = np.where(random.integers(0, 2, SAMPLES_PER_KIND) == 0, np.float32(1), np.float32(-1))
    return np.concatenate([patterns, sizes * signs])


def inputs(folder: Path, dtype: str) -> npt.NDArray[np.float64]:
    """The inputs of a type, as f64."""
    if dtype == "f32":
        return np.fromfile(folder / "inputs.f32", "<f4").astype(np.float64)
    patterns = np.arange(2**16, dtype=np.uint32)
    if dtype == "f16":
        return patterns.astype(np.uint16).view(np.float16).astype(np.float64)
    return (patterns << 16).view(np.float32).astype(np.float64)


def evaluate(name: str, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A function of each value, rounded to the nearest f64."""
    function = FUNCTIONS[name]
    with gmpy2.context(gmpy2.get_context(), precision=PRECISION_BITS):
        # NaN in, NaN out: not every function of the library agrees.
        results = [
            float(function(mpfr(value))) if not math.isnan(value) else _of_nan(name) for value in values.tolist()
        ]
    return np.array(results, np.float64)


def _of_nan(name: str) -> float:
    return 0.0 if ".is_" in name else math.nan


def write(folder: Path, names: Iterable[str] | None, jobs: int) -> None:
    """Writes what is missing: all functions or those named, for every type."""
    if not (folder / "inputs.f32").exists():
        sample().astype("<f4").tofile(folder / "inputs.f32")
    chosen = list(FUNCTIONS) if names is None else list(names)
    work = [(folder, name, dtype) for dtype in TYPES for name in chosen]
    missing = [(folder, name, dtype) for folder, name, dtype in work if not _file(folder, name, dtype).exists()]
    if missing:
        with multiprocessing.get_context("spawn").Pool(jobs) as pool:
            for count, _ in enumerate(pool.imap_unordered(_write_one, missing), 1):
                sys.stderr.write(f"  {count} of {len(missing)} tables\n")


def _file(folder: Path, name: str, dtype: str) -> Path:
    return folder / f"{name}.{dtype}"


def _write_one(work: tuple[Path, str, str]) -> None:
    folder, name, dtype = work
    corpus.wait_while_paused()
    target = _file(folder, name, dtype)
    unfinished = target.with_name(target.name + ".unfinished")
    evaluate(name, inputs(folder, dtype)).astype("<f8").tofile(unfinished)
    unfinished.rename(target)
