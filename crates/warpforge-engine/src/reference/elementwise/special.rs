//! Functions of one and two real numbers that neither the language nor `libm` has, in f64.
//!
//! Relative errors stay near 1e-15; close to a root of `digamma` or `log_gamma` the absolute error does.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// `1 / (1 + exp(-x))` without overflow on the way.
pub(super) fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + libm::exp(-x))
    } else {
        let power = libm::exp(x);
        power / (1.0 + power)
    }
}

/// The number whose error function is `x`; NaN outside of -1 to 1.
pub(super) fn erf_inv(x: f64) -> f64 {
    let size = x.abs();
    if x.is_nan() || size > 1.0 {
        return f64::NAN;
    }
    if size == 1.0 {
        return x * f64::INFINITY;
    }
    if size < 1e-8 {
        // The next term, pi x^2 / 12, is below the last place.
        return x / FRAC_2_SQRT_PI;
    }
    let mut y = erf_inv_start(size);
    // Halley's steps: each triples the digits. Beyond 1/2 the complement keeps the digits that 1 - x has.
    for _ in 0..4 {
        let slope = FRAC_2_SQRT_PI * libm::exp(-y * y);
        let off = if size > 0.5 {
            ((1.0 - size) - libm::erfc(y)) / slope
        } else {
            (libm::erf(y) - size) / slope
        };
        let step = off / (1.0 + y * off);
        y -= step;
        if step.abs() <= 1e-16 * y.abs() {
            break;
        }
    }
    y.copysign(x)
}

/// The inverse to about a thousandth (Winitzki's formula).
fn erf_inv_start(x: f64) -> f64 {
    let a = 0.147;
    let log = libm::log((1.0 - x) * (1.0 + x));
    let half = 2.0 / (PI * a) + log / 2.0;
    (((half * half - log / a).sqrt()) - half).max(0.0).sqrt()
}

/// Whether `x` is 0, -1, -2, ... or minus infinity.
fn is_pole(x: f64) -> bool {
    x <= 0.0 && x == x.floor()
}

/// The logarithm of the size of the gamma function; infinite at its poles.
pub(super) fn log_gamma(x: f64) -> f64 {
    if is_pole(x) || x.is_infinite() { f64::INFINITY } else { libm::lgamma(x) }
}

/// The derivative of [`log_gamma`]; NaN at its poles.
pub(super) fn digamma(x: f64) -> f64 {
    if is_pole(x) {
        return f64::NAN;
    }
    if x < 0.0 {
        // What is left of x after whole periods is exact, so the tangent is as good as its argument.
        let rest = x - x.round_ties_even();
        return digamma(1.0 - x) - PI / libm::tan(PI * rest);
    }
    let (mut x, mut below) = (x, 0.0);
    while x < 12.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    if x.is_infinite() {
        return x;
    }
    // Bernoulli numbers over twice their index, alternating.
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32760.0,
        1.0 / 12.0,
        -3617.0 / 8160.0,
    ];
    let square = 1.0 / (x * x);
    let tail = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    libm::log(x) - 0.5 / x - tail - below
}

/// The modified Bessel function of the first kind and order 1, times `exp(-|x|)`.
pub(super) fn bessel_i1e(x: f64) -> f64 {
    let size = x.abs();
    if x.is_nan() || x == 0.0 {
        return x;
    }
    if size.is_infinite() {
        return 0.0_f64.copysign(x);
    }
    if size <= 30.0 {
        // All terms have one sign, so nothing is lost.
        let quarter = size * size / 4.0;
        let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
        while term > sum * 1e-17 {
            term *= quarter / (k * (k + 1.0));
            sum += term;
            k += 1.0;
        }
        return (size / 2.0 * sum * libm::exp(-size)).copysign(x);
    }
    let (mut term, mut sum) = (1.0_f64, 1.0_f64);
    for k in 1..60 {
        let odd = f64::from(2 * k - 1);
        term *= -(4.0 - odd * odd) / (8.0 * f64::from(k) * size);
        sum += term;
        if term.abs() < 1e-17 {
            break;
        }
    }
    // The square roots are taken apart so that 2 pi x does not overflow.
    (sum / ((2.0 * PI).sqrt() * size.sqrt())).copysign(x)
}

/// The sum of `(q + k)^-s` over all whole `k` from 0; infinite at its poles, NaN where the sum has no real value.
pub(super) fn zeta(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() || s < 1.0 {
        return f64::NAN;
    }
    if s == 1.0 {
        return f64::INFINITY;
    }
    if q > 0.0 {
        return zeta_of_positive(s, q);
    }
    if q == q.floor() {
        return f64::INFINITY;
    }
    if s != s.floor() {
        return f64::NAN;
    }
    // The terms below zero are those of two other sums: (f - k)^-s for k from 1 to n.
    let n = -q.floor();
    let f = q + n;
    let below = zeta_of_positive(s, 1.0 - f) - zeta_of_positive(s, n + 1.0 - f);
    let sign = if s % 2.0 == 0.0 { 1.0 } else { -1.0 };
    zeta_of_positive(s, f) + sign * below
}

/// Euler and Maclaurin's formula after the first terms.
fn zeta_of_positive(s: f64, q: f64) -> f64 {
    if q.is_infinite() {
        return 0.0;
    }
    // B(2j) / (2j)!
    const FACTORS: [f64; 12] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3617.0 / 10_670_622_842_880_000.0,
        43867.0 / 5_109_094_217_170_944_000.0,
        -174_611.0 / 802_857_662_698_291_200_000.0,
        77683.0 / 14_101_100_039_391_805_440_000.0,
        -236_364_091.0 / 1_693_824_136_731_743_669_452_800_000.0,
    ];
    let (mut sum, mut a, mut terms) = (0.0, q, 0);
    while terms < 16 || a < s.min(1e4) {
        let term = libm::pow(a, -s);
        sum += term;
        if term <= sum * 1e-17 || terms > 20_000 {
            return sum;
        }
        a += 1.0;
        terms += 1;
    }
    let power = libm::pow(a, -s);
    sum += power * a / (s - 1.0) + power / 2.0;
    let mut falling = s * power / a;
    for (index, factor) in FACTORS.iter().enumerate() {
        let term = factor * falling;
        sum += term;
        if term.abs() <= sum.abs() * 1e-18 {
            break;
        }
        let k = 2.0 * index as f64;
        falling *= (s + k + 1.0) * (s + k + 2.0) / (a * a);
    }
    sum
}

/// The derivative of [`digamma`] of order `n`; NaN where `n` is not 0, 1, 2, ...
pub(super) fn polygamma(n: f64, x: f64) -> f64 {
    if n.is_nan() || n < 0.0 || n != n.floor() {
        return f64::NAN;
    }
    if n == 0.0 {
        return digamma(x);
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    let zeta = zeta(n + 1.0, x);
    let factorial = if n <= 170.0 {
        (2..=n as u32).fold(1.0, |product, factor| product * f64::from(factor))
    } else {
        f64::INFINITY
    };
    if factorial.is_finite() && (zeta == 0.0 || zeta.abs() > 1e-290) {
        return sign * factorial * zeta;
    }
    // One factor overflows or underflows where the product may not.
    let size = libm::exp(libm::lgamma(n + 1.0) + libm::log(zeta.abs()));
    (sign * size).copysign(sign * zeta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        let error = ((found - expected) / expected).abs();
        assert!(error < 2e-15, "{found} instead of {expected}: {error:e}");
    }

    #[test]
    fn known_values_to_the_last_digits() {
        close(erf_inv(0.5), 0.476_936_276_204_469_9);
        close(erf_inv(-0.1), -0.088_855_990_494_257_69);
        close(erf_inv(1.0 - 1e-10), 4.572_824_958_544_925);
        close(erf_inv(1e-12), 8.862_269_254_527_58e-13);
        close(digamma(1.0), -0.577_215_664_901_532_9);
        close(digamma(0.25), -4.227_453_533_376_266);
        close(digamma(-1.5), 0.703_156_640_645_243_2);
        close(digamma(100.0), 4.600_161_852_738_087);
        close(log_gamma(0.5), 0.572_364_942_924_700_1);
        close(log_gamma(-0.5), 1.265_512_123_484_645_4);
        close(bessel_i1e(1.0), 0.207_910_415_349_708_46);
        close(bessel_i1e(-10.0), -0.121_262_681_384_455_53);
        close(zeta(2.0, 1.0), PI * PI / 6.0);
        close(zeta(3.0, 0.25), 64.663_869_968_768_46);
        close(polygamma(1.0, 1.0), PI * PI / 6.0);
        close(polygamma(2.0, 1.0), -2.404_113_806_319_188_6);
        close(polygamma(1.0, -0.5), PI * PI / 2.0 + 4.0);
        close(logistic(-800.0 + 100.0), libm::exp(-700.0));
    }

    #[test]
    fn both_ways_to_the_bessel_function_meet() {
        for x in [29.999, 30.0, 30.001, 31.0] {
            let series = bessel_i1e(x);
            assert!((0.070..0.075).contains(&series), "{series}");
        }
        let (below, above) = (bessel_i1e(30.0), bessel_i1e(30.0_f64.next_up()));
        assert!((below - above).abs() < 1e-15, "{below} {above}");
    }

    #[test]
    fn poles_and_what_has_no_value() {
        assert!(digamma(0.0).is_nan() && digamma(-3.0).is_nan());
        assert_eq!(log_gamma(-2.0), f64::INFINITY);
        assert_eq!(erf_inv(-1.0), f64::NEG_INFINITY);
        assert!(erf_inv(1.5).is_nan());
        assert_eq!(zeta(1.0, 3.0), f64::INFINITY);
        assert!(zeta(0.5, 3.0).is_nan() && polygamma(0.5, 3.0).is_nan());
        assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
        assert_eq!(bessel_i1e(f64::INFINITY), 0.0);
    }
}
