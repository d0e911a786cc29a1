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
        Unary::Imag => |_| 0.0,
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
        // libm gives numbers for what has no real answer.
        Unary::ChloAcosh => |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) },
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

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_tensor::Shape;

    fn one(op: Unary, dtype: DType, value: f64) -> f64 {
        let operand = Tensor::from_floats(dtype, Shape::scalar(), vec![value]).unwrap();
        unary(op, &operand, dtype).unwrap().floats().unwrap()[0]
    }

    #[test]
    fn every_op_takes_every_pattern() {
        let shape = Shape::new([1 << 16]).unwrap();
        for dtype in [DType::F16, DType::BF16] {
            let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
            let all = Tensor::new(dtype, shape.clone(), bytes).unwrap();
            let given = all.floats().unwrap();
            for op in Unary::ALL.iter().filter(|op| **op != Unary::Imag) {
                let to = if real_test(*op).is_some() { DType::I1 } else { dtype };
                let Ok(found) = unary(*op, &all, to) else {
                    assert!(real(*op).is_none(), "{} of {dtype}", op.name());
                    continue;
                };
                let Ok(found) = found.floats() else { continue };
                let invents = |(given, found): (&f64, &f64)| given.is_nan() && !found.is_nan();
                assert!(!given.iter().zip(&found).any(invents), "{} hides NaN", op.name());
            }
        }
    }

    #[test]
    fn each_kind_of_number_has_every_function_the_specification_gives_it() {
        let missing = |dtype: DType, none: &[Unary]| {
            for op in Unary::ALL {
                let there = function(*op, dtype).is_some();
                assert_eq!(there, !none.contains(op), "{} of {dtype}", op.name());
            }
        };
        missing(DType::F32, &[Unary::CountLeadingZeros, Unary::PopulationCount, Unary::Not]);
        let complex_has_none = [
            Unary::Ceil,
            Unary::CountLeadingZeros,
            Unary::Floor,
            Unary::IsFinite,
            Unary::Not,
            Unary::PopulationCount,
            Unary::RoundNearestAwayFromZero,
            Unary::RoundNearestEven,
            Unary::ChloBesselI1e,
            Unary::ChloDigamma,
            Unary::ChloErf,
            Unary::ChloErfInv,
            Unary::ChloErfc,
            Unary::ChloIsInf,
            Unary::ChloIsNegInf,
            Unary::ChloIsPosInf,
            Unary::ChloLgamma,
        ];
        missing(DType::C64, &complex_has_none);
    }

    #[test]
    fn known_values_and_signs_of_zero() {
        assert_eq!(one(Unary::Cbrt, DType::F32, -27.0), -3.0);
        assert_eq!(one(Unary::Rsqrt, DType::F32, 16.0), 0.25);
        assert!(one(Unary::ChloAcosh, DType::F32, -3.0).is_nan());
        assert_eq!(one(Unary::Rsqrt, DType::F32, -0.0), f64::NEG_INFINITY);
        assert_eq!(one(Unary::RoundNearestEven, DType::F32, 2.5), 2.0);
        assert_eq!(one(Unary::RoundNearestAwayFromZero, DType::F32, 2.5), 3.0);
        assert_eq!(one(Unary::RoundNearestAwayFromZero, DType::F32, -2.5), -3.0);
        assert!(one(Unary::Sign, DType::F32, -0.0).is_sign_negative());
        assert!(one(Unary::Sqrt, DType::F32, -0.0).is_sign_negative());
        assert!(one(Unary::Tanh, DType::F32, -0.0).is_sign_negative());
        assert_eq!(one(Unary::Log, DType::F32, 0.0), f64::NEG_INFINITY);
        assert_eq!(one(Unary::Logistic, DType::F32, 0.0), 0.5);
        assert_eq!(one(Unary::LogPlusOne, DType::F32, 1e-10), f64::from(1e-10_f32));
        // Subnormal numbers are kept.
        let least = f64::from(f32::from_bits(1));
        assert_eq!(one(Unary::Sine, DType::F32, least), least);
        assert_eq!(one(Unary::ChloErfc, DType::F32, 10.0), f64::from(libm::erfc(10.0) as f32));
    }
}
