"""The correctly rounded functions against mpmath, which computes them in other ways."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conformance import exact, unary


@pytest.mark.parametrize("name", exact.FUNCTIONS)
def test_functions_agree_with_mpmath(name: str) -> None:
    values = np.array([1e-8, -1e-8, 0.3, -0.3, 0.75, -0.9, 1.5, -1.5, 7.25, -7.75, 31.5, 32.5, -40.25, 90.0])
    for value, ours in zip(values.tolist(), unary.evaluate(name, values).tolist(), strict=True):
        try:
            theirs = exact.FUNCTIONS[name](exact.mp.mpf(value))
        except ValueError:
            continue
        if isinstance(theirs, exact.mp.mpc):
            # Outside of the domain mpmath goes on among complex numbers.
            assert math.isnan(ours), value
        else:
            # Its numbers have 300 bits, of which f64 keeps the first 53.
            assert ours == float(theirs), value


def test_edges() -> None:
    def of(name: str, value: float) -> float:
        return float(unary.evaluate(name, np.array([value]))[0])

    assert of("stablehlo.rsqrt", -0.0) == -math.inf
    assert of("chlo.lgamma", -3.0) == math.inf
    assert math.isnan(of("chlo.digamma", -3.0))
    assert math.isnan(of("chlo.digamma", 0.0))
    assert of("chlo.erf_inv", 1.0) == math.inf
    assert math.isnan(of("chlo.erf_inv", 1.5))
    assert math.isnan(of("stablehlo.cosine", math.nan))
    assert of("chlo.is_inf", math.nan) == 0
    assert of("stablehlo.round_nearest_even", 2.5) == 2
    assert of("stablehlo.round_nearest_afz", 2.5) == 3
    assert of("chlo.bessel_i1e", math.inf) == 0


def test_the_sample_is_the_same_each_time_and_has_every_size() -> None:
    sample = unary.sample()
    np.testing.assert_array_equal(sample, unary.sample())
    assert sample.size == 2 * unary.SAMPLES_PER_KIND
    assert np.isnan(sample).any()
    exponents = set(np.frexp(np.abs(sample[np.isfinite(sample)]))[1].tolist())
    assert len(exponents) > 250


def test_every_function_can_be_evaluated() -> None:
    values = np.array([0.5, -0.0, math.inf, math.nan, -2.0])
    for name in unary.FUNCTIONS:
        assert unary.evaluate(name, values).shape == values.shape


def test_the_last_arbiter_takes_programs_of_one_function() -> None:
    text = "func.func public @main(%arg0: tensor<2x{0}> {{x = 1}}) {{\n %0 = stablehlo.log %arg0 : tensor<2x{0}>\n}}"
    values = np.array([1.0 + 1e-9, 2.0])
    np.testing.assert_allclose(exact.evaluate(text.format("f64"), values.tobytes()), np.log(values), rtol=1e-15)
    plane = np.array([1j, -1.0 + 0j])
    expected = [0.5j * math.pi, 1j * math.pi]
    np.testing.assert_allclose(exact.evaluate(text.format("complex<f64>"), plane.tobytes()), expected, rtol=1e-15)
    with pytest.raises(ValueError, match="not one function"):
        exact.evaluate(text.format("f64").replace("log", "gather"), values.tobytes())
