//! Which function each binary op is, for each kind of element.

use warpforge_hlo::ir::Binary;
use warpforge_tensor::{Complex64, DType, Elements, Kind, Tensor, small_float};

use super::{complex, integer, special, unsupported, zipped};
use crate::EngineError;
use crate::reference::scalar::Scalar;

/// A function of two elements of one type.
#[derive(Clone, Copy)]
enum Function {
    Real(fn(f64, f64) -> f64),
    /// One that depends on which numbers the type can hold.
    RealOfType(fn(f64, f64, DType) -> f64),
    RealToComplex(fn(f64, f64) -> Complex64),
    Integer(fn(i64, i64, DType) -> i64),
    Complex(fn(Complex64, Complex64) -> Complex64),
}

/// Applies an op to every pair of elements. `result` is the type of the result's elements.
pub(in crate::reference) fn binary(
    op: Binary,
    lhs: &Tensor,
    rhs: &Tensor,
    result: DType,
) -> Result<Tensor, EngineError> {
    let function = function(op, lhs.dtype()).ok_or_else(|| unsupported(op.name(), lhs))?;
    let dtype = lhs.dtype();
    let elements = match (function, lhs.elements(), rhs.elements()) {
        (Function::Real(f), Elements::Floats(a), Elements::Floats(b)) => {
            Elements::Floats(zipped(a, &b, f))
        }
        (Function::RealOfType(f), Elements::Floats(a), Elements::Floats(b)) => {
            Elements::Floats(zipped(a, &b, |a, b| f(a, b, dtype)))
        }
        (Function::RealToComplex(f), Elements::Floats(a), Elements::Floats(b)) => {
            Elements::Complex(a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect())
        }
        (Function::Integer(f), Elements::Integers(a), Elements::Integers(b)) => {
            Elements::Integers(zipped(a, &b, |a, b| f(a, b, dtype)))
        }
        (Function::Complex(f), Elements::Complex(a), Elements::Complex(b)) => {
            Elements::Complex(zipped(a, &b, f))
        }
        _ => return Err(unsupported(op.name(), lhs)),
    };
    Ok(Tensor::from_elements(result, lhs.shape().clone(), &elements)?)
}

/// The same of one pair of elements of type `dtype`, not yet rounded.
pub(in crate::reference) fn binary_scalar(
    op: Binary,
    lhs: Scalar,
    rhs: Scalar,
    dtype: DType,
) -> Option<Scalar> {
    Some(match (function(op, dtype)?, lhs, rhs) {
        (Function::Real(f), Scalar::Float(a), Scalar::Float(b)) => Scalar::Float(f(a, b)),
        (Function::RealOfType(f), Scalar::Float(a), Scalar::Float(b)) => {
            Scalar::Float(f(a, b, dtype))
        }
        (Function::RealToComplex(f), Scalar::Float(a), Scalar::Float(b)) => {
            Scalar::Complex(f(a, b))
        }
        (Function::Integer(f), Scalar::Integer(a), Scalar::Integer(b)) => {
            Scalar::Integer(f(a, b, dtype))
        }
        (Function::Complex(f), Scalar::Complex(a), Scalar::Complex(b)) => Scalar::Complex(f(a, b)),
        _ => return None,
    })
}

fn function(op: Binary, dtype: DType) -> Option<Function> {
    match dtype.kind() {
        Kind::Float => match op {
            Binary::Complex => Some(Function::RealToComplex(Complex64::new)),
            Binary::ChloNextAfter => Some(Function::RealOfType(next_after)),
            _ => real(op).map(Function::Real),
        },
        Kind::Complex => complex_function(op).map(Function::Complex),
        _ => integer_function(op).map(Function::Integer),
    }
}

fn real(op: Binary) -> Option<fn(f64, f64) -> f64> {
    Some(match op {
        Binary::Add => |a, b| a + b,
        Binary::Atan2 => libm::atan2,
        Binary::Divide => |a, b| a / b,
        Binary::Maximum => maximum,
        Binary::Minimum => minimum,
        Binary::Multiply => |a, b| a * b,
        Binary::Power => libm::pow,
        Binary::Remainder => |a, b| a % b,
        Binary::Subtract => |a, b| a - b,
        Binary::ChloPolygamma => special::polygamma,
        Binary::ChloZeta => special::zeta,
        _ => return None,
    })
}

/// The larger; NaN where either is, and 0 is larger than -0.
pub(super) fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b { if a.is_sign_negative() { b } else { a } } else { a.max(b) }
}

/// The smaller; NaN where either is, and -0 is smaller than 0.
pub(super) fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b { if a.is_sign_negative() { a } else { b } } else { a.min(b) }
}

/// Complex numbers are ordered by their real parts first.
fn before(a: Complex64, b: Complex64) -> bool {
    (a.re, a.im) < (b.re, b.im)
}

fn complex_function(op: Binary) -> Option<fn(Complex64, Complex64) -> Complex64> {
    Some(match op {
        Binary::Add => |a, b| a + b,
        Binary::Atan2 => complex::atan2,
        Binary::Divide => complex::divide,
        Binary::Maximum => |a, b| if before(a, b) { b } else { a },
        Binary::Minimum => |a, b| if before(b, a) { b } else { a },
        Binary::Multiply => complex::multiply,
        Binary::Power => complex::power,
        Binary::Subtract => |a, b| a - b,
        _ => return None,
    })
}

fn integer_function(op: Binary) -> Option<fn(i64, i64, DType) -> i64> {
    Some(match op {
        // Of booleans: whether either is set.
        Binary::Add => |a, b, dtype| if dtype == DType::I1 { a | b } else { a.wrapping_add(b) },
        Binary::And => |a, b, _| a & b,
        Binary::Divide => integer::divide,
        Binary::Maximum => integer::maximum,
        Binary::Minimum => integer::minimum,
        Binary::Multiply => |a, b, _| a.wrapping_mul(b),
        Binary::Or => |a, b, _| a | b,
        Binary::Power => integer::power,
        Binary::Remainder => integer::remainder,
        Binary::ShiftLeft => integer::shift_left,
        Binary::ShiftRightArithmetic => integer::shift_right_arithmetic,
        Binary::ShiftRightLogical => integer::shift_right_logical,
        Binary::Subtract => |a, b, _| a.wrapping_sub(b),
        Binary::Xor => |a, b, _| a ^ b,
        _ => return None,
    })
}

/// The next number of the type after `a` on the way to `b`.
fn next_after(a: f64, b: f64, dtype: DType) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b {
        return b;
    }
    let up = b > a;
    match dtype {
        DType::F64 => {
            if up {
                a.next_up()
            } else {
                a.next_down()
            }
        }
        DType::F32 => {
            let narrow = a as f32;
            f64::from(if up { narrow.next_up() } else { narrow.next_down() })
        }
        _ => small_next(a, up, dtype).unwrap_or(f64::NAN),
    }
}

/// Patterns of small floats are ordered by size below their sign.
fn small_next(a: f64, up: bool, dtype: DType) -> Option<f64> {
    let bits = small_float::encode(a.abs(), dtype)?;
    let next = if a == 0.0 {
        return small_float::decode(1, dtype).map(|least| if up { least } else { -least });
    } else if up == (a > 0.0) {
        bits + 1
    } else {
        bits - 1
    };
    small_float::decode(next, dtype).map(|size| size.copysign(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_have_an_order_and_nan_spreads() {
        assert!(maximum(-0.0, 0.0).is_sign_positive() && maximum(0.0, -0.0).is_sign_positive());
        assert!(minimum(-0.0, 0.0).is_sign_negative() && minimum(0.0, -0.0).is_sign_negative());
        assert!(maximum(f64::NAN, 1.0).is_nan() && minimum(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn the_next_number_is_the_types_own() {
        assert_eq!(next_after(1.0, 2.0, DType::BF16), 1.0078125);
        assert_eq!(next_after(1.0, 2.0, DType::F32), f64::from(1.0_f32.next_up()));
        assert_eq!(next_after(0.0, -1.0, DType::F16), -f64::powi(2.0, -24));
        assert_eq!(next_after(-1.0, 2.0, DType::F16), -1.0 + f64::powi(2.0, -11));
        assert_eq!(next_after(65504.0, 1e9, DType::F16), f64::INFINITY);
    }
}
