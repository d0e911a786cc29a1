//! Which function each unary op is, for each kind of element.

use warpforge_hlo::ir::Unary;
use warpforge_tensor::{Complex64, DType, Elements, Kind, Tensor};

use super::{complex, integer, mapped, special, unsupported};
use crate::EngineError;
use crate::reference::scalar::Scalar;

/// A function of one element.
#[derive(Clone, Copy)]
enum Function {
    Real(fn(f64) -> f64),
    RealTest(fn(f64) -> bool),
    Integer(fn(i64, DType) -> i64),
    Complex(fn(Complex64) -> Complex64),
    ComplexToReal(fn(Complex64) -> f64),
}

/// Applies an op to every element. `result` is the type of the result's elements.
pub(in crate::reference) fn unary(
    op: Unary,
    operand: &Tensor,
    result: DType,
) -> Result<Tensor, EngineError> {
    let function = function(op, operand.dtype()).ok_or_else(|| unsupported(op.name(), operand))?;
    let dtype = operand.dtype();
    let elements = match (function, operand.elements()) {
        (Function::Real(f), Elements::Floats(values)) => Elements::Floats(mapped(values, f)),
        (Function::RealTest(f), Elements::Floats(values)) => {
            Elements::Integers(values.into_iter().map(|value| i64::from(f(value))).collect())
        }
        (Function::Integer(f), Elements::Integers(values)) => {
            Elements::Integers(mapped(values, |value| f(value, dtype)))
        }
        (Function::Complex(f), Elements::Complex(values)) => Elements::Complex(mapped(values, f)),
        (Function::ComplexToReal(f), Elements::Complex(values)) => {
            Elements::Floats(values.into_iter().map(f).collect())
        }
        _ => return Err(unsupported(op.name(), operand)),
    };
    Ok(Tensor::from_elements(result, operand.shape().clone(), &elements)?)
}

/// The same of one element of type `dtype`, not yet rounded.
pub(in crate::reference) fn unary_scalar(
    op: Unary,
    operand: Scalar,
    dtype: DType,
) -> Option<Scalar> {
    Some(match (function(op, dtype)?, operand) {
        (Function::Real(f), Scalar::Float(value)) => Scalar::Float(f(value)),
        (Function::RealTest(f), Scalar::Float(value)) => Scalar::Integer(i64::from(f(value))),
        (Function::Integer(f), Scalar::Integer(value)) => Scalar::Integer(f(value, dtype)),
        (Function::Complex(f), Scalar::Complex(value)) => Scalar::Complex(f(value)),
        (Function::ComplexToReal(f), Scalar::Complex(value)) => Scalar::Float(f(value)),
        _ => return None,
    })
}

fn function(op: Unary, dtype: DType) -> Option<Function> {
    match dtype.kind() {
        Kind::Float => real_test(op).map(Function::RealTest).or(real(op).map(Function::Real)),
        Kind::Complex => complex_to_real(op)
            .map(Function::ComplexToReal)
            .or(complex_function(op).map(Function::Complex)),
        _ => integer_function(op).map(Function::Integer),
    }
}

fn real_test(op: Unary) -> Option<fn(f64) -> bool> {
    Some(match op {
        Unary::IsFinite => f64::is_finite,
        Unary::ChloIsInf => f64::is_infinite,
        Unary::ChloIsNegInf => |x| x == f64::NEG_INFINITY,
        Unary::ChloIsPosInf => |x| x == f64::INFINITY,
        _ => return None,
    })
}

fn real(op: Unary) -> Option<fn(f64) -> f64> {
    Some(match op {
        Unary::Abs => f64::abs,
        Unary::Cbrt => libm::cbrt,
        Unary::Ceil => f64::ceil,
        Unary::Cosine => libm::cos,
        Unary::Exponential => libm::exp,
        Unary::ExponentialMinusOne => libm::expm1,
        Unary::Floor => f64::floor,
        Unary::Imag => |x| if x.is_nan() { x } else { 0.0 },
        Unary::Log => libm::log,
        Unary::LogPlusOne => libm::log1p,
        Unary::Logistic => special::logistic,
        Unary::Negate => |x| -x,
        Unary::Real | Unary::ChloConj => |x| x,
        Unary::RoundNearestAwayFromZero => f64::round,
        Unary::RoundNearestEven => f64::round_ties_even,
        Unary::Rsqrt => |x| 1.0 / x.sqrt(),
        Unary::Sign => |x| if x == 0.0 || x.is_nan() { x } else { x.signum() },
        Unary::Sine => libm::sin,
        Unary::Sqrt => f64::sqrt,
        Unary::Tan | Unary::ChloTan => libm::tan,
        Unary::Tanh => libm::tanh,
        Unary::ChloAcos => libm::acos,
        Unary::ChloAcosh => libm::acosh,
        Unary::ChloAsin => libm::asin,
        Unary::ChloAsinh => libm::asinh,
        Unary::ChloAtan => libm::atan,
        Unary::ChloAtanh => libm::atanh,
        Unary::ChloBesselI1e => special::bessel_i1e,
        Unary::ChloCosh => libm::cosh,
        Unary::ChloDigamma => special::digamma,
        Unary::ChloErf => libm::erf,
        Unary::ChloErfInv => special::erf_inv,
        Unary::ChloErfc => libm::erfc,
        Unary::ChloLgamma => special::log_gamma,
        Unary::ChloSinh => libm::sinh,
        Unary::ChloSquare => |x| x * x,
        Unary::CountLeadingZeros
        | Unary::PopulationCount
        | Unary::Not
        | Unary::IsFinite
        | Unary::ChloIsInf
        | Unary::ChloIsNegInf
        | Unary::ChloIsPosInf => return None,
    })
}

fn complex_to_real(op: Unary) -> Option<fn(Complex64) -> f64> {
    Some(match op {
        Unary::Abs => complex::abs,
        Unary::Real => |z| z.re,
        Unary::Imag => |z| z.im,
        _ => return None,
    })
}

fn complex_function(op: Unary) -> Option<fn(Complex64) -> Complex64> {
    Some(match op {
        Unary::Cbrt => complex::cbrt,
        Unary::Cosine => complex::cos,
        Unary::Exponential => complex::exp,
        Unary::ExponentialMinusOne => complex::expm1,
        Unary::Log => complex::log,
        Unary::LogPlusOne => complex::log1p,
        Unary::Logistic => complex::logistic,
        Unary::Negate => |z| -z,
        Unary::Rsqrt => complex::rsqrt,
        Unary::Sign => complex::sign,
        Unary::Sine => complex::sin,
        Unary::Sqrt => complex::sqrt,
        Unary::Tan | Unary::ChloTan => complex::tan,
        Unary::Tanh => complex::tanh,
        Unary::ChloAcos => complex::acos,
        Unary::ChloAcosh => complex::acosh,
        Unary::ChloAsin => complex::asin,
        Unary::ChloAsinh => complex::asinh,
        Unary::ChloAtan => complex::atan,
        Unary::ChloAtanh => complex::atanh,
        Unary::ChloConj => |z| z.conj(),
        Unary::ChloCosh => complex::cosh,
        Unary::ChloSinh => complex::sinh,
        Unary::ChloSquare => |z| complex::multiply(z, z),
        _ => return None,
    })
}

fn integer_function(op: Unary) -> Option<fn(i64, DType) -> i64> {
    Some(match op {
        Unary::Abs => integer::abs,
        Unary::CountLeadingZeros => integer::leading_zeros,
        Unary::Negate => |value, _| value.wrapping_neg(),
        Unary::Not => integer::not,
        Unary::PopulationCount => integer::ones,
        Unary::Sign => integer::sign,
        Unary::ChloConj => |value, _| value,
        Unary::ChloSquare => |value, _| value.wrapping_mul(value),
        _ => return None,
    })
}
