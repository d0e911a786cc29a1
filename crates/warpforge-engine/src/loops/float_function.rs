//! Functions of one f32, without branches or tables, so that a loop over them becomes vector code.
//!
//! Errors are measured by the test below against f64 over the whole range: at most 2 units in the last place.
//! `FMA` says whether the code around is compiled for a machine with fused multiplication and addition; without it the
//! product and the sum round one after the other.
// Coefficients are written as they were found, in f64; the compiler rounds them once.
#![allow(clippy::excessive_precision)]

use warpforge_codegen::coefficients::{
    ERF_SHORT, EXP, EXPM1, LN_2_HIGH, LN_2_LOW, LOG, LOG_ERFC, ROUNDING, TANH,
};

/// `a * b + c`.
#[inline(always)]
fn fused<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// A polynomial, the constant term first.
#[inline(always)]
fn polynomial<const FMA: bool, const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    let mut place = N - 1;
    while place > 0 {
        place -= 1;
        sum = fused::<FMA>(sum, x, coefficients[place]);
    }
    sum
}

#[inline(always)]
fn pick(condition: bool, yes: f32, no: f32) -> f32 {
    if condition { yes } else { no }
}

/// 2 to the power of an integer in -126..=127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) << 23) as u32)
}

/// `n` and `r` with `x = n ln 2 + r`, for `x` that are not far from 0.
#[inline(always)]
fn reduced<const FMA: bool>(x: f32) -> (i32, f32) {
    let shifted = fused::<FMA>(x, std::f32::consts::LOG2_E, ROUNDING);
    let n = shifted - ROUNDING;
    let r = fused::<FMA>(-n, LN_2_HIGH, x);
    // The integer stands in the low bits of the shifted number; a conversion would have to look for overflow.
    let n_bits = (shifted.to_bits() as i32).wrapping_sub(ROUNDING.to_bits() as i32);
    (n_bits, fused::<FMA>(-n, LN_2_LOW, r))
}

/// `value * 2^n` for `n` in -160..=130.
#[inline(always)]
fn scaled(value: f32, n: i32) -> f32 {
    let half = n >> 1;
    value * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// e to the power of x.
#[inline(always)]
pub(super) fn exp<const FMA: bool>(x: f32) -> f32 {
    // What rounds to 0 is not computed: numbers too small to be normal on the way take the processor a hundred times longer,
    // and masked elements all come this way.
    let nothing = x < -104.0;
    let bounded = pick(nothing, 0.0, x.clamp(-104.0, 89.0));
    let (n, r) = reduced::<FMA>(bounded);
    let p = polynomial::<FMA, 6>(r, &EXP);
    let value = fused::<FMA>(r * r, p, r) + 1.0;
    pick(nothing, 0.0, scaled(value, n))
}

/// e to the power of x, where that is not above 0; 0 where it is too small to be normal.
#[inline(always)]
pub(super) fn exp_of_negative<const FMA: bool>(x: f32) -> f32 {
    let nothing = x < -87.0;
    let (n, r) = reduced::<FMA>(pick(nothing, 0.0, x));
    let value = fused::<FMA>(r * r, polynomial::<FMA, 6>(r, &EXP), r) + 1.0;
    pick(nothing, 0.0, value * power_of_two(n))
}

/// e to the power of x, minus 1, also exact where x is small.
#[inline(always)]
pub(super) fn exp_minus_one<const FMA: bool>(x: f32) -> f32 {
    let bounded = x.clamp(-30.0, 89.0);
    let (n, r) = reduced::<FMA>(bounded);
    let p = polynomial::<FMA, 7>(r, &EXPM1);
    // e^r - 1, then (e^r - 1) 2^n + (2^n - 1); for large n the 1 no longer counts.
    let small = fused::<FMA>(r * r, p, r);
    let power = power_of_two(n.min(30));
    let value = fused::<FMA>(small, power, power - 1.0);
    let value = pick(n > 30, scaled(small + 1.0, n), value);
    let value = pick(n == 0, small, value);
    let value = pick(x == 0.0, x, value);
    pick(x.is_nan(), x, value)
}

/// The logarithm of `1 + f` with `f` between -0.293 and 0.415, plus `n ln 2`.
#[inline(always)]
fn log_of_parts<const FMA: bool>(f: f32, n: f32) -> f32 {
    let square = f * f;
    let tail = polynomial::<FMA, 8>(f, &LOG) * square * f;
    let tail = fused::<FMA>(n, LN_2_LOW, tail);
    let sum = fused::<FMA>(-0.5, square, tail) + f;
    fused::<FMA>(n, LN_2_HIGH, sum)
}

/// The natural logarithm.
#[inline(always)]
pub(super) fn log<const FMA: bool>(x: f32) -> f32 {
    const SMALLEST: f32 = f32::MIN_POSITIVE;
    let tiny = x < SMALLEST;
    let normal = pick(tiny, x * 8_388_608.0, x);
    let bits = normal.to_bits();
    // The mantissa is brought to between sqrt(1/2) and sqrt(2).
    let shifted = bits.wrapping_sub(0x3f35_04f3);
    let n = (shifted as i32 >> 23) as f32 - pick(tiny, 23.0, 0.0);
    let mantissa = f32::from_bits((shifted & 0x007f_ffff) + 0x3f35_04f3);
    let value = log_of_parts::<FMA>(mantissa - 1.0, n);
    let value = pick(x == f32::INFINITY, x, value);
    let value = pick(x == 0.0, f32::NEG_INFINITY, value);
    pick(x < 0.0 || x.is_nan(), f32::NAN, value)
}

/// The natural logarithm of `1 + x`, also exact where x is small.
#[inline(always)]
pub(super) fn log_plus_one<const FMA: bool>(x: f32) -> f32 {
    let sum = 1.0 + x;
    // What the sum lost, to first order.
    let lost = pick(sum.is_infinite(), 0.0, x - (sum - 1.0));
    let value = log::<FMA>(sum) + lost / pick(sum == 0.0, 1.0, sum);
    pick(x.abs() < 1e-7, x, value)
}

/// The hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let small = fused::<FMA>(polynomial::<FMA, 5>(square, &TANH) * square, x, x);
    let large = 1.0 - 2.0 / (exp::<FMA>(size.min(20.0) * 2.0) + 1.0);
    let value = pick(size < 0.625, small, large.copysign(x));
    pick(x.is_nan(), x, value)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(super) fn logistic<const FMA: bool>(x: f32) -> f32 {
    // With the power of a number that is not positive nothing overflows.
    let power = exp::<FMA>(-x.abs());
    let sum = 1.0 + power;
    let quotient = pick(x >= 0.0, 1.0, power) / sum;
    // What the sum lost, to first order.
    let lost = power - (sum - 1.0);
    let value = fused::<FMA>(-quotient, lost, quotient);
    pick(x.is_nan(), x, value)
}

/// `erf(x) / x - 1` by powers of `x^2`, up to x = 1.
const ERF: [f32; 8] = [
    0.128_379_167_062_032,
    -0.376_126_384_493_124_7,
    0.112_837_821_295_827_98,
    -0.026_865_407_335_737_56,
    0.005_220_963_043_112_394,
    -0.000_848_305_702_083_548,
    0.000_112_584_558_946_596_3,
    -9.645_507_472_369_76e-6,
];

/// `e^(x^2) erfc(x)` by powers of `1 / (x + 2)`, from x = 0.45 on.
const SCALED_ERFC: [f64; 11] = [
    1.926_706_978_920_776_3e-6,
    0.564_061_030_571_966_1,
    1.132_099_563_674_265,
    1.913_271_621_560_601_4,
    3.458_671_360_395_247_3,
    -1.649_078_283_551_363_3,
    18.863_230_140_511_412,
    -59.474_621_002_570_565,
    58.636_114_918_701_516,
    -7.975_965_721_504_561,
    -12.724_085_668_450_53,
];

/// The error function below 1.
#[inline(always)]
fn erf_small<const FMA: bool>(x: f32) -> f32 {
    fused::<FMA>(x, polynomial::<FMA, 8>(x * x, &ERF), x)
}

/// `e^r` by powers of `r`, after `1 + r`, for `r` within half of ln 2.
const EXP_WIDE: [f64; 6] = [
    0.500_000_006_778_624_8,
    0.166_666_658_678_005_95,
    0.041_666_294_562_347_41,
    0.008_333_497_216_982_722,
    0.001_394_468_867_716_269_1,
    0.000_197_903_314_241_600_4,
];

#[inline(always)]
fn wide_polynomial<const FMA: bool, const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut place = N - 1;
    while place > 0 {
        place -= 1;
        sum = if FMA { sum.mul_add(x, coefficients[place]) } else { sum * x + coefficients[place] };
    }
    sum
}

/// erfc of a number of at least 0.45. In f64, because the exponential magnifies what its argument has lost; the
/// polynomials are no longer than f32 needs.
#[inline(always)]
fn erfc_large<const FMA: bool>(x: f32) -> f32 {
    const WIDE_ROUNDING: f64 = 6_755_399_441_055_744.0;
    let x = f64::from(x.min(12.0));
    let square = -(x * x);
    let shifted = square * std::f64::consts::LOG2_E + WIDE_ROUNDING;
    let r = square - (shifted - WIDE_ROUNDING) * std::f64::consts::LN_2;
    let n = (shifted.to_bits() as i64).wrapping_sub(WIDE_ROUNDING.to_bits() as i64);
    let power = 1.0 + r + r * r * wide_polynomial::<FMA, 6>(r, &EXP_WIDE);
    let scale = f64::from_bits((n.wrapping_add(1023) << 52) as u64);
    (power * scale * wide_polynomial::<FMA, 11>(1.0 / (x + 2.0), &SCALED_ERFC)) as f32
}

/// The error function.
#[inline(always)]
pub(super) fn erf<const FMA: bool>(x: f32) -> f32 {
    let size = x.abs();
    let small = fused::<FMA>(x, polynomial::<FMA, 6>(x * x, &ERF_SHORT), x);
    // From 4 on what is left is less than half a unit of the last place of 1.
    let (n, r) = reduced::<FMA>(polynomial::<FMA, 7>(size.min(4.0), &LOG_ERFC));
    let power = fused::<FMA>(r * r, polynomial::<FMA, 6>(r, &EXP), r) + 1.0;
    let large = fused::<FMA>(-power, power_of_two(n), 1.0).copysign(x);
    // What is no number goes the short way, and stays none.
    pick(size >= 0.89, large, small)
}

/// 1 minus the error function, also exact where that is small.
#[inline(always)]
pub(super) fn erfc<const FMA: bool>(x: f32) -> f32 {
    let small = 1.0 - erf_small::<FMA>(x);
    let large = erfc_large::<FMA>(x.abs().max(0.5));
    let large = pick(x < 0.0, 2.0 - large, large);
    let value = pick(x.abs() < 0.5, small, large);
    pick(x.is_nan(), x, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error in units of the last place, and where.
    fn worst(ours: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) -> (f64, f32) {
        let mut worst = (0.0, 0.0);
        for step in 0..(1_u32 << 22) {
            let x = f32::from_bits(step.wrapping_mul(1021));
            let (found, wanted) = (ours(x), exact(f64::from(x)));
            let rounded = wanted as f32;
            if rounded.is_nan() || !rounded.is_finite() || rounded == 0.0 {
                let same = found.is_nan() == rounded.is_nan()
                    && (rounded.is_nan()
                        || found == rounded
                        || (rounded == 0.0 && found.abs() < 1e-44));
                assert!(same, "at {x}: {found} for {wanted}");
                continue;
            }
            let unit =
                f64::from(f32::from_bits(rounded.abs().to_bits() + 1)) - f64::from(rounded.abs());
            let error = (f64::from(found) - wanted).abs() / unit;
            if error > worst.0 {
                worst = (error, x);
            }
        }
        worst
    }

    #[test]
    fn within_units_of_the_last_place() {
        let rows: [(&str, (f64, f32)); 10] = [
            ("exp", worst(exp::<true>, libm::exp)),
            ("exp without fma", worst(exp::<false>, libm::exp)),
            ("expm1", worst(exp_minus_one::<true>, libm::expm1)),
            ("log", worst(log::<true>, libm::log)),
            ("log1p", worst(log_plus_one::<true>, libm::log1p)),
            ("tanh", worst(tanh::<true>, libm::tanh)),
            (
                "logistic",
                worst(logistic::<true>, |x| {
                    let power = libm::exp(-x.abs());
                    if x >= 0.0 { 1.0 / (1.0 + power) } else { power / (1.0 + power) }
                }),
            ),
            ("erf", worst(erf::<true>, libm::erf)),
            ("erfc", worst(erfc::<true>, libm::erfc)),
            ("erfc without fma", worst(erfc::<false>, libm::erfc)),
        ];
        let wrong: Vec<_> = rows.iter().filter(|(_, (error, _))| *error > 2.0).collect();
        assert!(wrong.is_empty(), "{rows:?}");
    }
}
