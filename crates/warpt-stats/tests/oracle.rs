//! Every estimator and test against numpy and scipy: `oracle.json` is written by `oracle.py` and committed.
#![allow(clippy::unwrap_used)]

use serde::Deserialize;
use warpt_stats::distribution::{
    half_binomial_lower, normal_cdf, normal_quantile, student_quantile, student_two_sided,
};
use warpt_stats::interval::{acceleration, bca, bootstrap_median};
use warpt_stats::random::Random;
use warpt_stats::rank::{Method, RankTest, mann_whitney, sign_flip, sign_test, signed_rank};
use warpt_stats::{Summary, autocorrelation, mad, median, order, quantile};

#[derive(Deserialize)]
struct Oracle {
    order: Vec<OrderCase>,
    signed_rank: Vec<TestCase>,
    mann_whitney: Vec<TwoSamples>,
    sign_flip: Vec<TestCase>,
    sign: Vec<TestCase>,
    bca: Vec<BcaCase>,
    distribution: Distributions,
    autocorrelation: Vec<Lag1Case>,
}

#[derive(Deserialize)]
struct OrderCase {
    name: String,
    values: Vec<f64>,
    levels: Vec<f64>,
    quantiles: Vec<f64>,
    median: f64,
    mad: f64,
    mean: f64,
    standard_deviation: f64,
}

#[derive(Deserialize)]
struct TestCase {
    values: Vec<f64>,
    statistic: f64,
    p_value: f64,
}

#[derive(Deserialize)]
struct TwoSamples {
    first: Vec<f64>,
    second: Vec<f64>,
    statistic: f64,
    p_value: f64,
}

#[derive(Deserialize)]
struct BcaCase {
    name: String,
    values: Vec<f64>,
    low: f64,
    high: f64,
    jackknife: Vec<f64>,
    acceleration: f64,
    replicates: Vec<f64>,
    formula_low: f64,
    formula_high: f64,
}

#[derive(Deserialize)]
struct Lag1Case {
    values: Vec<f64>,
    lag1: f64,
}

#[derive(Deserialize)]
struct Distributions {
    normal_cdf: Vec<(f64, f64)>,
    normal_quantile: Vec<(f64, f64)>,
    student_quantile: Vec<(f64, f64, f64)>,
    student_two_sided: Vec<(f64, f64, f64)>,
    half_binomial_lower: Vec<(usize, f64, usize, f64)>,
}

fn oracle() -> Oracle {
    serde_json::from_str(include_str!("oracle.json")).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, relative: f64) {
    let error = (found - expected).abs();
    assert!(
        error <= relative * expected.abs() || error < 1e-300,
        "found {found:e}, expected {expected:e}"
    );
}

#[track_caller]
fn same_test(found: RankTest, statistic: f64, p_value: f64) {
    close(found.statistic, statistic, 1e-12);
    close(found.p_value, p_value, 1e-8);
}

#[test]
fn order_statistics() {
    for case in oracle().order {
        let ascending = order::sorted(&case.values);
        for (level, expected) in case.levels.iter().zip(&case.quantiles) {
            close(quantile(&ascending, *level), *expected, 1e-12);
        }
        close(median(&case.values), case.median, 1e-12);
        close(mad(&case.values), case.mad, 1e-12);
        let summary = Summary::of(&case.values).unwrap();
        close(summary.median, case.median, 1e-12);
        close(summary.mad, case.mad, 1e-12);
        close(summary.mean, case.mean, 1e-12);
        close(summary.standard_deviation, case.standard_deviation, 1e-10);
        close(summary.p95, case.quantiles[6], 1e-12);
        assert!(summary.minimum <= summary.interval.low, "{}", case.name);
    }
}

#[test]
fn wilcoxon_signed_rank() {
    for case in oracle().signed_rank {
        let found = signed_rank(&case.values);
        same_test(found, case.statistic, case.p_value);
        assert_eq!(found.method == Method::Exact, found.count <= 50);
    }
}

#[test]
fn mann_whitney_u() {
    for case in oracle().mann_whitney {
        let found = mann_whitney(&case.first, &case.second);
        same_test(found, case.statistic, case.p_value);
    }
}

#[test]
fn sign_flip_permutation() {
    for case in oracle().sign_flip {
        let mut random = Random::new(1);
        same_test(sign_flip(&case.values, 0, &mut random), case.statistic, case.p_value);
        // The Monte Carlo form on the same values, repeated beyond the exact limit with zeros that change nothing.
        let mut padded = case.values.clone();
        padded.resize(20, 0.0);
        let sampled = sign_flip(&padded, 20_000, &mut random);
        assert_eq!(sampled.method, Method::MonteCarlo);
        assert!(
            (sampled.p_value - case.p_value).abs() < 0.015,
            "{} {}",
            sampled.p_value,
            case.p_value
        );
    }
}

#[test]
fn signs() {
    for case in oracle().sign {
        same_test(sign_test(&case.values), case.statistic, case.p_value);
    }
}

#[test]
fn bca_interval_of_the_median() {
    for case in oracle().bca {
        let ascending = order::sorted(&case.values);
        let found = acceleration(&case.jackknife);
        assert!((found - case.acceleration).abs() < 1e-9, "{found} {}", case.acceleration);
        let (low, high) = bca(&case.replicates, quantile(&ascending, 0.5), case.acceleration, 0.95);
        close(low, case.formula_low, 1e-9);
        close(high, case.formula_high, 1e-9);
        // Bootstrap medians are (nearly) sample values, so Monte Carlo error shows as a rank or two.
        let (low, high) = bootstrap_median(&ascending, 0.95, 1);
        let rank = |value: f64| ascending.partition_point(|&v| v < value);
        assert!(rank(low).abs_diff(rank(case.low)) <= 2, "{}: {low} {}", case.name, case.low);
        assert!(rank(high).abs_diff(rank(case.high)) <= 2, "{}: {high} {}", case.name, case.high);
    }
}

#[test]
fn distributions() {
    let cases = oracle().distribution;
    for (x, expected) in cases.normal_cdf {
        close(normal_cdf(x), expected, if x < -7.0 { 1e-4 } else { 1e-13 });
    }
    for (p, expected) in cases.normal_quantile {
        close(normal_quantile(p), expected, 1e-8);
    }
    for (p, freedom, expected) in cases.student_quantile {
        close(student_quantile(p, freedom), expected, 1e-9);
    }
    for (t, freedom, expected) in cases.student_two_sided {
        close(student_two_sided(t, freedom), expected, 1e-10);
    }
    for (n, tail, k, probability) in cases.half_binomial_lower {
        let (found, reached) = half_binomial_lower(n, tail).unwrap();
        assert_eq!(found, k, "{n} {tail}");
        close(reached, probability, 1e-10);
    }
}

#[test]
fn rank_autocorrelation() {
    for case in oracle().autocorrelation {
        close(autocorrelation::lag1(&case.values), case.lag1, 1e-10);
    }
}
