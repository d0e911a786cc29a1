"""Regenerates oracle.json: reference values from numpy and scipy that tests/oracle.rs compares with.

    python3 -m venv venv && venv/bin/pip install numpy==2.4.6 scipy==1.17.1
    venv/bin/python crates/warpt-stats/tests/oracle.py > crates/warpt-stats/tests/oracle.json
"""

import itertools
import json
import sys

import numpy as np
from scipy import stats

rng = np.random.default_rng(20240607)


def rounded(values, digits=6):
    return [round(float(value), digits) for value in values]


def series():
    yield "one", [3.5]
    yield "two", [4.0, 1.0]
    yield "odd", rounded(rng.normal(10, 2, 31))
    yield "even", rounded(rng.lognormal(0, 0.7, 80))
    yield "tied", [float(value) for value in rng.integers(0, 6, 50)]
    yield "large", rounded(rng.lognormal(3, 0.3, 700))


def order_cases():
    for name, values in series():
        array = np.array(values)
        levels = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0]
        yield {
            "name": name,
            "values": values,
            "levels": levels,
            "quantiles": [float(np.quantile(array, level)) for level in levels],
            "median": float(np.median(array)),
            "mad": 1.4826 * float(stats.median_abs_deviation(array)),
            "mean": float(array.mean()),
            "standard_deviation": float(array.std(ddof=1)) if len(values) > 1 else 0.0,
        }


def exact_signed_rank(values):
    """All sign patterns over mid-ranks: exact with ties too."""
    used = [value for value in values if value != 0]
    ranks = stats.rankdata(np.abs(used))
    observed = float(sum(rank for rank, value in zip(ranks, used) if value > 0))
    sums = [float(np.dot(signs, ranks)) for signs in itertools.product([0, 1], repeat=len(used))]
    below = sum(s <= observed + 1e-9 for s in sums) / len(sums)
    above = sum(s >= observed - 1e-9 for s in sums) / len(sums)
    return observed, min(1.0, 2 * min(below, above))


def signed_rank_cases():
    for count, shift in [(6, 0.0), (12, 0.5), (15, 1.0), (30, 0.3), (50, 0.2)]:
        values = rounded(rng.normal(shift, 1, count))
        result = stats.wilcoxon(values, mode="exact")
        positive = float(sum(r for r, v in zip(stats.rankdata(np.abs(values)), values) if v > 0))
        yield {"values": values, "statistic": positive, "p_value": float(result.pvalue)}
    for values in ([1.0, 1.0, 2.0, -1.0, 3.0, 3.0, 0.0, 2.0], [2.0, -2.0, 1.0, 1.0, 4.0, 4.0, 4.0, 0.5, 0.0, 7.0]):
        statistic, p_value = exact_signed_rank(values)
        yield {"values": values, "statistic": statistic, "p_value": p_value}
    for values in (rounded(rng.normal(0.15, 1, 120)), rounded(rng.normal(0.15, 1, 90), 1)):
        used = [value for value in values if value != 0]
        result = stats.wilcoxon(used, method="approx", correction=True)
        positive = float(sum(r for r, v in zip(stats.rankdata(np.abs(used)), used) if v > 0))
        yield {"values": values, "statistic": positive, "p_value": float(result.pvalue)}


def mann_whitney_cases():
    for n, m, shift in [(5, 7, 0.0), (12, 9, 1.0), (50, 50, 0.4), (60, 80, 0.3)]:
        first, second = rounded(rng.normal(shift, 1, n)), rounded(rng.normal(0, 1, m))
        method = "exact" if n * m <= 2500 else "asymptotic"
        result = stats.mannwhitneyu(first, second, method=method, use_continuity=True)
        yield case_of_two(first, second, result)
    first = [float(value) for value in rng.integers(0, 5, 20)]
    second = [float(value) for value in rng.integers(1, 6, 25)]
    yield case_of_two(first, second, stats.mannwhitneyu(first, second, method="asymptotic"))


def case_of_two(first, second, result):
    return {
        "first": first,
        "second": second,
        "statistic": float(result.statistic),
        "p_value": float(result.pvalue),
    }


def sign_flip_cases():
    for count in (4, 9, 12):
        values = rounded(rng.normal(0.6, 1, count))
        result = stats.permutation_test(
            (values,), np.sum, permutation_type="samples", alternative="two-sided", n_resamples=np.inf
        )
        sums = [
            abs(sum(s * v for s, v in zip(signs, values)))
            for signs in itertools.product([-1, 1], repeat=count)
        ]
        p_value = sum(s >= abs(sum(values)) - 1e-9 for s in sums) / len(sums)
        assert abs(p_value - result.pvalue) < 0.02, (p_value, result.pvalue)
        yield {"values": values, "statistic": float(sum(values)), "p_value": p_value}


def sign_cases():
    for count, shift in [(9, 0.5), (30, 0.4), (200, 0.1)]:
        values = rounded(rng.normal(shift, 1, count))
        positive = sum(value > 0 for value in values)
        yield {
            "values": values,
            "statistic": float(positive),
            "p_value": float(stats.binomtest(positive, count).pvalue),
        }


def bca_cases():
    """The whole interval with many resamples, and the BCa formula alone on given replicates."""
    for name, values in [
        ("normal", rounded(rng.normal(10, 2, 31))),
        ("skewed", rounded(rng.lognormal(0, 0.7, 80))),
        ("wide", rounded(rng.lognormal(0, 1.0, 201))),
    ]:
        result = stats.bootstrap(
            (values,), np.median, n_resamples=20000, method="BCa", confidence_level=0.95, rng=rng
        )
        low, high = result.confidence_interval
        replicates = np.sort(rng.choice(result.bootstrap_distribution, 200)).round(6)
        jackknife = np.array([np.median(np.delete(values, i)) for i in range(len(values))])
        deviation = jackknife.mean() - jackknife
        acceleration = (deviation**3).sum() / (6 * (deviation**2).sum() ** 1.5)
        bias = stats.norm.ppf(stats.percentileofscore(replicates, np.median(values), kind="mean") / 100)
        edges = bias + stats.norm.ppf([0.025, 0.975])
        edges = stats.norm.cdf(bias + edges / (1 - acceleration * edges))
        formula = np.quantile(replicates, edges)
        yield {
            "name": name,
            "values": values,
            "low": float(low),
            "high": float(high),
            "jackknife": jackknife.tolist(),
            "acceleration": float(acceleration),
            "replicates": replicates.tolist(),
            "formula_low": float(formula[0]),
            "formula_high": float(formula[1]),
        }


def distribution_cases():
    return {
        "normal_cdf": [[x, float(stats.norm.cdf(x))] for x in (-30.0, -8.0, -3.1, -0.5, 0.0, 0.7, 2.0, 6.0)],
        "normal_quantile": [
            [p, float(stats.norm.ppf(p))] for p in (1e-300, 1e-12, 0.001, 0.02, 0.3, 0.5, 0.975, 0.9999)
        ],
        "student_quantile": [
            [p, v, float(stats.t.ppf(p, v))]
            for p in (0.01, 0.6, 0.8, 0.975, 0.9995)
            for v in (1.0, 2.0, 5.0, 11.0, 40.5, 1000.0)
        ],
        "student_two_sided": [
            [t, v, float(2 * stats.t.sf(abs(t), v))] for t in (-4.0, 0.0, 0.3, 2.2, 9.0) for v in (1.0, 3.0, 11.0, 200.0)
        ],
        "half_binomial_lower": [
            [n, tail, int(k), float(stats.binom.cdf(k, n, 0.5))]
            for n in (6, 9, 15, 30, 401, 1000)
            for tail in (0.025, 0.005)
            for k in [max((k for k in range(n) if stats.binom.cdf(k, n, 0.5) <= tail), default=-1)]
            if k >= 0
        ],
    }


def autocorrelation_cases():
    values = [0.0]
    for step in rng.normal(0, 1, 199):
        values.append(0.6 * values[-1] + float(step))
    values = rounded(values)
    ranks = stats.rankdata(values)
    ranks = ranks - ranks.mean()
    yield {"values": values, "lag1": float(np.dot(ranks[:-1], ranks[1:]) / np.dot(ranks, ranks))}


json.dump(
    {
        "order": list(order_cases()),
        "signed_rank": list(signed_rank_cases()),
        "mann_whitney": list(mann_whitney_cases()),
        "sign_flip": list(sign_flip_cases()),
        "sign": list(sign_cases()),
        "bca": list(bca_cases()),
        "distribution": distribution_cases(),
        "autocorrelation": list(autocorrelation_cases()),
    },
    sys.stdout,
)
print()
