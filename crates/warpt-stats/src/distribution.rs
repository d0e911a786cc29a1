//! The few distributions the tests and intervals need: normal, Student t, binomial at one half. Each function is
//! total: arguments out of range give the limit value, never a panic.

use std::f64::consts::PI;

/// Φ(x), by West's double-precision scheme (Hart's rational form, continued fraction beyond 7.07).
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    let upper = normal_tail(x.abs());
    if x > 0.0 { 1.0 - upper } else { upper }
}

/// P(Z > x) for `x >= 0`, with full relative precision in the tail.
fn normal_tail(x: f64) -> f64 {
    if x > 38.0 {
        return 0.0;
    }
    let density = (-x * x / 2.0).exp();
    if x < 7.071_067_811_865_475 {
        let numerator = [
            3.526_249_659_989_11e-2,
            0.700_383_064_443_688,
            6.373_962_203_531_65,
            33.912_866_078_383,
            112.079_291_497_871,
            221.213_596_169_931,
            220.206_867_912_376,
        ];
        let denominator = [
            8.838_834_764_831_84e-2,
            1.755_667_163_182_64,
            16.064_177_579_207,
            86.780_732_202_946_1,
            296.564_248_779_674,
            637.333_633_378_831,
            793.826_512_519_948,
            440.413_735_824_752,
        ];
        let horner = |terms: &[f64]| terms.iter().fold(0.0, |sum, term| sum * x + term);
        density * horner(&numerator) / horner(&denominator)
    } else {
        let fraction = (1..=5).rev().fold(x + 0.65, |rest, k| x + f64::from(k) / rest);
        density / fraction / (2.0 * PI).sqrt()
    }
}

/// Two-sided p value of a standard normal statistic.
#[must_use]
pub fn normal_two_sided(z: f64) -> f64 {
    (2.0 * normal_tail(z.abs())).min(1.0)
}

/// Φ⁻¹(p): Acklam's rational start and one Halley step. ∓∞ at 0 and 1.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p > 0.5 {
        // Mirrored, so that the correction below always works on the precise lower tail.
        return -normal_quantile(1.0 - p);
    }
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let horner = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    let start = if p < 0.024_25 {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    } else {
        let q = p - 0.5;
        let r = q * q;
        horner(&A, r) * q / horner(&B, r)
    };
    let error = normal_cdf(start) - p;
    let step = error * (2.0 * PI).sqrt() * (start * start / 2.0).exp();
    if step.is_finite() { start - step / (1.0 + start * step / 2.0) } else { start }
}

/// The `p` quantile of Student's t with `freedom` degrees of freedom, by bisection on its distribution function.
/// Normal above 10 000 degrees; at least one degree is assumed.
#[must_use]
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    if p.is_nan() || freedom.is_nan() {
        return f64::NAN;
    }
    if freedom > 1e4 || p <= 0.0 || p >= 1.0 {
        return normal_quantile(p);
    }
    if p < 0.5 {
        return -student_quantile(1.0 - p, freedom);
    }
    let freedom = freedom.max(1.0);
    let (mut low, mut high) = (0.0, 1.0);
    while student_cdf(high, freedom) < p && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if student_cdf(middle, freedom) < p {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-13 * high {
            break;
        }
    }
    f64::midpoint(low, high)
}

/// Student's t distribution function: `1 - I(ν / (ν + t²); ν/2, 1/2) / 2` for positive t.
#[must_use]
pub fn student_cdf(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() {
        return f64::NAN;
    }
    let tail = student_two_sided(t, freedom) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Two-sided p value of a t statistic.
#[must_use]
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let freedom = freedom.max(1.0);
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5).clamp(0.0, 1.0)
}

/// The natural logarithm of Γ(x) for x > 0 (Lanczos, g = 7).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = TERMS
        .iter()
        .enumerate()
        .fold(0.999_999_999_999_809_9, |sum, (k, term)| sum + term / (x + k as f64 + 1.0));
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularized incomplete beta function by its continued fraction (modified Lentz).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// The largest `k` with P(Binomial(n, 1/2) <= k) <= `tail`, and that probability; `None` when even k = 0 exceeds it.
/// Sums exactly up to n = 1000 and uses the normal limit (with continuity correction) above.
#[must_use]
pub fn half_binomial_lower(n: usize, tail: f64) -> Option<(usize, f64)> {
    if n > 1000 {
        let count = n as f64;
        let edge = count / 2.0 + normal_quantile(tail) * count.sqrt() / 2.0 - 0.5;
        return (edge >= 0.0).then(|| (edge.floor() as usize, tail));
    }
    let mut probability = 0.5f64.powi(i32::try_from(n).ok()?);
    let mut sum = probability;
    if sum > tail {
        return None;
    }
    for k in 0..n {
        probability *= (n - k) as f64 / (k + 1) as f64;
        if sum + probability > tail {
            return Some((k, sum));
        }
        sum += probability;
    }
    None
}
