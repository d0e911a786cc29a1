//! Functions of complex numbers in f64, without cancellation where the textbook formulas have it.
//!
//! Branch cuts follow C99: the sign of a zero says on which side of a cut a number lies.

use std::f64::consts::{FRAC_PI_2, LN_2, PI};

use warpforge_tensor::Complex64;

type C = Complex64;

/// Beyond this the squares of both parts might overflow.
const LARGE: f64 = 1e150;

fn c(re: f64, im: f64) -> C {
    C::new(re, im)
}

/// The size.
pub(super) fn abs(z: C) -> f64 {
    libm::hypot(z.re, z.im)
}

/// `i` times the number.
fn times_i(z: C) -> C {
    c(-z.im, z.re)
}

/// The number divided by `i`.
fn over_i(z: C) -> C {
    c(z.im, -z.re)
}

pub(super) fn multiply(a: C, b: C) -> C {
    c(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// The quotient; scaled so that squares of large or small divisors stay within range, as C99 has it for infinities.
pub(super) fn divide(a: C, b: C) -> C {
    if b.re == 0.0 && b.im == 0.0 && !(a.re.is_nan() && a.im.is_nan()) {
        let infinity = f64::INFINITY.copysign(b.re);
        return c(infinity * a.re, infinity * a.im);
    }
    let finite = |z: C| z.re.is_finite() && z.im.is_finite();
    let infinite = |z: C| z.re.is_infinite() || z.im.is_infinite();
    let unit = |x: f64| if x.is_infinite() { 1.0_f64.copysign(x) } else { 0.0_f64.copysign(x) };
    if infinite(a) && finite(b) {
        let top = c(unit(a.re), unit(a.im));
        return c(
            f64::INFINITY * (top.re * b.re + top.im * b.im),
            f64::INFINITY * (top.im * b.re - top.re * b.im),
        );
    }
    if finite(a) && infinite(b) {
        let below = c(unit(b.re), unit(b.im));
        return c(
            0.0 * (a.re * below.re + a.im * below.im),
            0.0 * (a.im * below.re - a.re * below.im),
        );
    }
    let scale = libm::ilogb(b.re.abs().max(b.im.abs()));
    let scale = if scale.abs() > 500 { -scale } else { 0 };
    let b = c(libm::ldexp(b.re, scale), libm::ldexp(b.im, scale));
    let below = b.re * b.re + b.im * b.im;
    c(
        libm::ldexp((a.re * b.re + a.im * b.im) / below, scale),
        libm::ldexp((a.im * b.re - a.re * b.im) / below, scale),
    )
}

/// The product and what its rounding lost.
fn exact_square(x: f64) -> (f64, f64) {
    let square = x * x;
    (square, x.mul_add(x, -square))
}

/// The logarithm of the size, also where the size is close to 1.
fn log_abs(z: C) -> f64 {
    let (large, small) = (z.re.abs().max(z.im.abs()), z.re.abs().min(z.im.abs()));
    if (0.5..2.0).contains(&large) && small < 2.0 {
        let ((square, rest), (small_square, small_rest)) =
            (exact_square(large), exact_square(small));
        return 0.5 * libm::log1p(((square - 1.0) + small_square) + (rest + small_rest));
    }
    if large > LARGE || (large < 1.0 / LARGE && large > 0.0) {
        let exponent = libm::ilogb(large.min(f64::MAX));
        let size = libm::hypot(libm::ldexp(large, -exponent), libm::ldexp(small, -exponent));
        return libm::log(size) + f64::from(exponent) * LN_2;
    }
    libm::log(libm::hypot(large, small))
}

pub(super) fn log(z: C) -> C {
    if z.re.is_infinite() || z.im.is_infinite() {
        return c(f64::INFINITY, libm::atan2(z.im, z.re));
    }
    c(log_abs(z), libm::atan2(z.im, z.re))
}

/// `log(1 + z)`, also where `z` is small.
pub(super) fn log1p(z: C) -> C {
    let angle = libm::atan2(z.im, 1.0 + z.re);
    if abs(z) >= 0.5 || z.re.is_nan() || z.im.is_nan() {
        return c(log(c(1.0 + z.re, z.im)).re, angle);
    }
    let ((re, re_rest), (im, im_rest)) = (exact_square(z.re), exact_square(z.im));
    // 2x and y^2 may cancel each other, so they come first.
    let excess = ((2.0 * z.re + im) + re) + (re_rest + im_rest);
    c(0.5 * libm::log1p(excess), angle)
}

pub(super) fn exp(z: C) -> C {
    if z.im == 0.0 {
        return c(libm::exp(z.re), z.im);
    }
    if z.re == f64::NEG_INFINITY && !z.im.is_finite() {
        return c(0.0, 0.0);
    }
    if z.re == f64::INFINITY && !z.im.is_finite() {
        return c(f64::INFINITY, f64::NAN);
    }
    let (sin, cos) = libm::sincos(z.im);
    if z.re > 700.0 && z.re.is_finite() {
        // The power alone may overflow where the product does not.
        let half = libm::exp(z.re / 2.0);
        return c(half * cos * half, half * sin * half);
    }
    let size = libm::exp(z.re);
    c(size * cos, size * sin)
}

/// `exp(z) - 1`, also where `z` is small.
pub(super) fn expm1(z: C) -> C {
    if z.im == 0.0 {
        return c(libm::expm1(z.re), z.im);
    }
    if z.re > 40.0 || !z.re.is_finite() || !z.im.is_finite() {
        let power = exp(z);
        return c(power.re - 1.0, power.im);
    }
    let half = libm::sin(z.im / 2.0);
    let re = libm::expm1(z.re) * libm::cos(z.im) - 2.0 * half * half;
    c(re, libm::exp(z.re) * libm::sin(z.im))
}

pub(super) fn sqrt(z: C) -> C {
    if z.im.is_infinite() {
        return c(f64::INFINITY, z.im);
    }
    if z.re.is_infinite() {
        return if z.re > 0.0 {
            c(z.re, if z.im.is_nan() { z.im } else { 0.0_f64.copysign(z.im) })
        } else {
            let side = f64::INFINITY.copysign(z.im);
            c(if z.im.is_nan() { z.im } else { 0.0 }, side)
        };
    }
    if z.re == 0.0 && z.im == 0.0 {
        return c(0.0, z.im);
    }
    // An even power of two out, its half back in.
    let exponent = libm::ilogb(z.re.abs().max(z.im.abs())).clamp(-1074, 1023);
    let even = if exponent.abs() > 400 { exponent & !1 } else { 0 };
    let (x, y) = (libm::ldexp(z.re, -even), libm::ldexp(z.im, -even));
    let long = ((x.abs() + libm::hypot(x, y)) / 2.0).sqrt();
    let short = y.abs() / (2.0 * long);
    let (long, short) = (libm::ldexp(long, even / 2), libm::ldexp(short, even / 2));
    if x >= 0.0 { c(long, short.copysign(y)) } else { c(short, long.copysign(y)) }
}

pub(super) fn rsqrt(z: C) -> C {
    divide(c(1.0, 0.0), sqrt(z))
}

pub(super) fn cbrt(z: C) -> C {
    if z == C::default() {
        return z;
    }
    power(z, c(1.0 / 3.0, 0.0))
}

/// A product that is zero where the first factor is, also beside an infinity.
fn zero_or(a: f64, b: f64) -> f64 {
    if a == 0.0 && !b.is_nan() { a.copysign(a * 1.0_f64.copysign(b)) } else { a * b }
}

pub(super) fn sinh(z: C) -> C {
    let (sin, cos) = libm::sincos(z.im);
    if z.re.abs() > 700.0 && z.re.is_finite() {
        let half = libm::exp(z.re.abs() / 2.0);
        return c((half * cos / 2.0 * half).copysign(cos * z.re), half * sin / 2.0 * half);
    }
    c(zero_or(libm::sinh(z.re), cos), if z.im == 0.0 { z.im } else { libm::cosh(z.re) * sin })
}

pub(super) fn cosh(z: C) -> C {
    let (sin, cos) = libm::sincos(z.im);
    if z.re.abs() > 700.0 && z.re.is_finite() {
        let half = libm::exp(z.re.abs() / 2.0);
        return c(half * cos / 2.0 * half, half * sin / 2.0 * half * 1.0_f64.copysign(z.re));
    }
    let im =
        if z.im == 0.0 { z.im * 1.0_f64.copysign(z.re) } else { zero_or(libm::sinh(z.re), sin) };
    c(libm::cosh(z.re) * cos, im)
}

pub(super) fn sin(z: C) -> C {
    over_i(sinh(times_i(z)))
}

pub(super) fn cos(z: C) -> C {
    cosh(times_i(z))
}

pub(super) fn tan(z: C) -> C {
    if z.im.abs() > 20.0 {
        let (sin, cos) = if z.re.is_finite() { libm::sincos(z.re) } else { (0.0, 1.0) };
        return c(4.0 * sin * cos * libm::exp(-2.0 * z.im.abs()), 1.0_f64.copysign(z.im));
    }
    let (sin, cos) = libm::sincos(z.re);
    let sinh = libm::sinh(z.im);
    let below = cos * cos + sinh * sinh;
    c(sin * cos / below, sinh * libm::cosh(z.im) / below)
}

pub(super) fn tanh(z: C) -> C {
    over_i(tan(times_i(z)))
}

pub(super) fn logistic(z: C) -> C {
    let power = exp(-z);
    divide(c(1.0, 0.0), c(1.0 + power.re, power.im))
}

pub(super) fn sign(z: C) -> C {
    let size = abs(z);
    if size == 0.0 { z } else { c(z.re / size, z.im / size) }
}

/// What the inverse sine and cosine have in common (Hull, Fairgrieve and Tang): for a number in the first quadrant, the
/// angles of its sine and cosine, and the imaginary part of both.
fn inverse_sine_cosine(x: f64, y: f64) -> (f64, f64, f64) {
    if x > LARGE || y > LARGE {
        let log = LN_2 + log_abs(c(x, y));
        return (libm::atan2(x, y), libm::atan2(y, x), log);
    }
    let (r, s) = (libm::hypot(x + 1.0, y), libm::hypot(x - 1.0, y));
    let a = (r + s) / 2.0;
    let b = x / a;
    let square = y * y;
    let (sine, cosine) = if b <= 0.6417 {
        (libm::asin(b), libm::acos(b))
    } else {
        let side = if x <= 1.0 {
            (0.5 * (a + x) * (square / (r + x + 1.0) + (s + (1.0 - x)))).sqrt()
        } else {
            y * (0.5 * ((a + x) / (r + x + 1.0) + (a + x) / (s + (x - 1.0)))).sqrt()
        };
        (libm::atan2(x, side), libm::atan2(side, x))
    };
    let imaginary = if a <= 1.5 {
        let over = if x < 1.0 {
            0.5 * (square / (r + x + 1.0) + square / (s + (1.0 - x)))
        } else {
            0.5 * (square / (r + x + 1.0) + (s + (x - 1.0)))
        };
        libm::log1p(over + (over * (a + 1.0)).sqrt())
    } else {
        libm::log(a + (a * a - 1.0).sqrt())
    };
    (sine, cosine, imaginary)
}

pub(super) fn asin(z: C) -> C {
    if z.re.is_nan() || z.im.is_nan() {
        return c(f64::NAN, if z.im.is_infinite() { z.im } else { f64::NAN });
    }
    let (sine, _, imaginary) = inverse_sine_cosine(z.re.abs(), z.im.abs());
    c(sine.copysign(z.re), imaginary.copysign(z.im))
}

pub(super) fn acos(z: C) -> C {
    if z.re.is_nan() || z.im.is_nan() {
        return c(f64::NAN, if z.im.is_infinite() { -z.im } else { f64::NAN });
    }
    let (_, cosine, imaginary) = inverse_sine_cosine(z.re.abs(), z.im.abs());
    let angle = if z.re.is_sign_negative() { PI - cosine } else { cosine };
    c(angle, -imaginary.copysign(z.im))
}

pub(super) fn asinh(z: C) -> C {
    over_i(asin(times_i(z)))
}

pub(super) fn acosh(z: C) -> C {
    let angle = acos(z);
    if angle.im.is_sign_negative() { times_i(angle) } else { over_i(angle) }
}

pub(super) fn atanh(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im);
    if x.is_infinite() || y.is_infinite() {
        return c(0.0_f64.copysign(z.re), FRAC_PI_2.copysign(y));
    }
    let (re, im) = if x > LARGE || y.abs() > LARGE {
        let size = libm::hypot(x, y);
        (x / size / size, FRAC_PI_2.copysign(y))
    } else {
        let gap = 1.0 - x;
        (
            0.25 * libm::log1p(4.0 * x / (gap * gap + y * y)),
            0.5 * libm::atan2(2.0 * y, gap * (1.0 + x) - y * y),
        )
    };
    c(re.copysign(z.re), im)
}

pub(super) fn atan(z: C) -> C {
    over_i(atanh(times_i(z)))
}

pub(super) fn power(z: C, w: C) -> C {
    if w == C::default() {
        return c(1.0, 0.0);
    }
    if z == C::default() {
        return if w.re > 0.0 { C::default() } else { c(f64::NAN, f64::NAN) };
    }
    let (size, angle) = (log_abs(z), libm::atan2(z.im, z.re));
    // For a real exponent the size by itself loses no digits in the logarithm.
    let scale =
        if w.im == 0.0 { libm::pow(abs(z), w.re) } else { libm::exp(w.re * size - w.im * angle) };
    let turn = w.im * size + w.re * angle;
    let (sin, cos) = libm::sincos(turn);
    c(scale * cos, scale * sin)
}

/// `-i log((x + iy) / sqrt(x^2 + y^2))`.
pub(super) fn atan2(y: C, x: C) -> C {
    let square = |z: C| multiply(z, z);
    let below = sqrt(square(x) + square(y));
    over_i(log(divide(x + times_i(y), below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: C, expected: C) {
        let error = abs(found - expected) / abs(expected);
        assert!(error < 2e-15, "{found} instead of {expected}: {error:e}");
    }

    #[test]
    fn functions_undo_each_other() {
        let numbers = [c(0.3, 0.4), c(-0.7, 0.2), c(1.3, -0.1), c(1e-5, 2e-5), c(-0.5, -1.5)];
        for z in numbers {
            close(exp(log(z)), z);
            close(multiply(sqrt(z), sqrt(z)), z);
            close(sin(asin(z)), z);
            close(sinh(asinh(z)), z);
            close(tan(atan(z)), z);
            close(tanh(atanh(z)), z);
            close(expm1(log1p(z)), z);
            close(multiply(divide(z, c(3.0, -4.0)), c(3.0, -4.0)), z);
            close(power(z, c(2.0, 0.0)), multiply(z, z));
            let cosine = cos(acos(z));
            assert!(abs(cosine - z) < 1e-15, "{cosine} {z}");
            let cosine = cosh(acosh(z));
            assert!(abs(cosine - z) < 1e-15, "{cosine} {z}");
        }
    }

    #[test]
    fn large_and_small_numbers_keep_their_digits() {
        close(asinh(c(1e20, 1.0)), c(46.744_849_040_440_86, 1e-20));
        close(asin(c(1e-20, 0.0)), c(1e-20, 0.0));
        close(atan(c(1e200, 1.0)), c(FRAC_PI_2, 0.0));
        close(log(c(1.0, 1e-9)), c(5e-19, 1e-9));
        close(sqrt(c(1e300, 1e300)), c(1.098_684_113_467_809_9e150, 4.550_898_605_622_274e149));
        close(c(abs(c(3e200, 4e200)), 0.0), c(5e200, 0.0));
    }

    #[test]
    fn the_sign_of_zero_chooses_the_side_of_a_cut() {
        assert_eq!(sqrt(c(-4.0, 0.0)), c(0.0, 2.0));
        assert_eq!(sqrt(c(-4.0, -0.0)), c(0.0, -2.0));
        assert_eq!(log(c(-1.0, -0.0)).im, -PI);
        assert!(acos(c(2.0, 0.0)).im < 0.0 && acos(c(2.0, -0.0)).im > 0.0);
        assert_eq!(divide(c(1.0, 0.0), c(0.0, 0.0)).re, f64::INFINITY);
    }
}
