//! Elements of one type as elements of another: by value, or by their bits.

use warpforge_tensor::{Complex64, DType, Elements, Kind, Shape, Tensor};

use crate::EngineError;
use crate::reference::scalar::Scalar;

/// One element by value, not yet rounded. Floats become integers toward zero, within the range of the type, NaN as 0.
pub(in crate::reference) fn convert_scalar(value: Scalar, from: DType, to: DType) -> Scalar {
    match (to.kind(), value) {
        (Kind::Boolean, value) => Scalar::Integer(i64::from(value.is_true())),
        (Kind::Signed | Kind::Unsigned, Scalar::Integer(value)) => Scalar::Integer(value),
        (Kind::Signed | Kind::Unsigned, Scalar::Float(value)) => Scalar::Integer(whole(value, to)),
        (Kind::Signed | Kind::Unsigned, Scalar::Complex(value)) => {
            Scalar::Integer(whole(value.re, to))
        }
        (Kind::Float, Scalar::Integer(value)) => Scalar::Float(real(value, from, to)),
        (Kind::Float, Scalar::Float(value)) => Scalar::Float(value),
        (Kind::Float, Scalar::Complex(value)) => Scalar::Float(value.re),
        (Kind::Complex, Scalar::Integer(value)) => {
            Scalar::Complex(Complex64::new(real(value, from, to.part()), 0.0))
        }
        (Kind::Complex, Scalar::Float(value)) => Scalar::Complex(Complex64::new(value, 0.0)),
        (Kind::Complex, Scalar::Complex(value)) => Scalar::Complex(value),
    }
}

fn whole(value: f64, to: DType) -> i64 {
    let bits = to.bits() as u32;
    if to.kind() == Kind::Unsigned {
        let largest = u64::MAX >> (64 - bits);
        return (value as u64).min(largest) as i64;
    }
    let largest = i64::MAX >> (64 - bits);
    (value as i64).clamp(-largest - 1, largest)
}

/// An integer as an f64 that rounds to the type as the integer itself would.
fn real(value: i64, from: DType, to: DType) -> f64 {
    let exact =
        if from.kind() == Kind::Signed { i128::from(value) } else { i128::from(value as u64) };
    let near = exact as f64;
    let back = near as i128;
    if to == DType::F64 || back == exact {
        return near;
    }
    // To odd: cut toward zero with the last bit set, which no second rounding takes for a tie.
    let cut = if back.abs() > exact.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f64::from_bits(cut | 1)
}

/// Every element by value.
pub(in crate::reference) fn convert(operand: &Tensor, to: DType) -> Result<Tensor, EngineError> {
    let from = operand.dtype();
    if from == to {
        return Ok(operand.clone());
    }
    let complex = |re: f64| Complex64::new(re, 0.0);
    let elements = match (operand.elements(), to.kind()) {
        // Storing wide elements is the conversion: integers wrap, floats are rounded.
        (same @ Elements::Integers(_), Kind::Boolean | Kind::Signed | Kind::Unsigned) => same,
        (same @ Elements::Floats(_), Kind::Float) => same,
        (same @ Elements::Complex(_), Kind::Complex) => same,
        (Elements::Integers(values), Kind::Float) => {
            Elements::Floats(each(values, |value| real(value, from, to)))
        }
        (Elements::Integers(values), Kind::Complex) => {
            Elements::Complex(each(values, |value| complex(real(value, from, to.part()))))
        }
        (Elements::Floats(values), Kind::Boolean) => {
            Elements::Integers(each(values, |value| i64::from(value != 0.0)))
        }
        (Elements::Floats(values), Kind::Signed | Kind::Unsigned) => {
            Elements::Integers(each(values, |value| whole(value, to)))
        }
        (Elements::Floats(values), Kind::Complex) => Elements::Complex(each(values, complex)),
        (Elements::Complex(values), Kind::Boolean) => {
            Elements::Integers(each(values, |value| i64::from(value != Complex64::default())))
        }
        (Elements::Complex(values), Kind::Signed | Kind::Unsigned) => {
            Elements::Integers(each(values, |value| whole(value.re, to)))
        }
        (Elements::Complex(values), Kind::Float) => {
            Elements::Floats(each(values, |value| value.re))
        }
    };
    Ok(Tensor::from_elements(to, operand.shape().clone(), &elements)?)
}

fn each<A, B>(values: Vec<A>, function: impl Fn(A) -> B) -> Vec<B> {
    values.into_iter().map(function).collect()
}

/// Every element by its bits; the first of several narrow ones has the lowest bits of a wide one.
pub(in crate::reference) fn bitcast_convert(
    operand: &Tensor,
    to: DType,
    shape: Shape,
) -> Result<Tensor, EngineError> {
    let (from_bits, to_bits) = (operand.dtype().bits(), to.bits());
    if from_bits >= 8 && to_bits >= 8 {
        return Ok(Tensor::new(to, shape, operand.bytes())?);
    }
    let width = operand.dtype().bytes();
    let total = shape.elements().checked_mul(to_bits);
    let held = operand.shape().elements().checked_mul(from_bits);
    if total.is_none() || total != held {
        return Err(EngineError::Value("the bits of the operand do not fill the result".into()));
    }
    let mut bytes = vec![0_u8; shape.elements() * to.bytes()];
    let mut place = 0;
    for element in operand.bytes().chunks_exact(width) {
        for bit in 0..from_bits {
            let value = element[bit / 8] >> (bit % 8) & 1;
            let (index, within) = (place / to_bits, place % to_bits);
            bytes[index * to.bytes() + within / 8] |= value << (within % 8);
            place += 1;
        }
    }
    Ok(Tensor::new(to, shape, bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: Scalar, from: DType, to: DType) -> Scalar {
        convert_scalar(value, from, to).rounded(to)
    }

    #[test]
    fn floats_become_integers_within_range() {
        let to = |value, dtype| one(Scalar::Float(value), DType::F32, dtype);
        assert_eq!(to(-1.9, DType::I32), Scalar::Integer(-1));
        assert_eq!(to(300.0, DType::I8), Scalar::Integer(127));
        assert_eq!(to(-5.0, DType::U8), Scalar::Integer(0));
        assert_eq!(to(f64::NAN, DType::I32), Scalar::Integer(0));
        assert_eq!(to(f64::INFINITY, DType::U64), Scalar::Integer(-1));
        assert_eq!(to(f64::NEG_INFINITY, DType::I64), Scalar::Integer(i64::MIN));
        assert_eq!(to(0.25, DType::I1), Scalar::Integer(1));
    }

    #[test]
    fn integers_are_rounded_once() {
        // Halfway between two f32 after a first rounding to f64, just above it before.
        let value = (1_i64 << 60) + (1 << 36) + 1;
        let expected = value as f32;
        assert_ne!((value as f64) as f32, expected, "rounding twice would differ");
        let found = one(Scalar::Integer(value), DType::I64, DType::F32);
        assert_eq!(found, Scalar::Float(f64::from(expected)));
        let found = one(Scalar::Integer(-1), DType::U64, DType::F32);
        assert_eq!(found, Scalar::Float(f64::from(u64::MAX as f32)));
        let found = one(Scalar::Integer(-value), DType::I64, DType::F32);
        assert_eq!(found, Scalar::Float(-f64::from(expected)));
    }

    #[test]
    fn bits_are_taken_from_the_low_end() {
        let word = Tensor::from_integers(DType::U32, Shape::scalar(), vec![0x0403_0201]).unwrap();
        let bytes = bitcast_convert(&word, DType::I8, Shape::new([4]).unwrap()).unwrap();
        assert_eq!(bytes.integers(), Ok(vec![1, 2, 3, 4]));
        let byte = Tensor::from_integers(DType::U8, Shape::scalar(), vec![0xf1]).unwrap();
        let halves = bitcast_convert(&byte, DType::I4, Shape::new([2]).unwrap()).unwrap();
        assert_eq!(halves.integers(), Ok(vec![1, -1]));
        assert_eq!(bitcast_convert(&halves, DType::U8, Shape::scalar()), Ok(byte));
    }

    #[test]
    fn empty_tensors_have_a_type_too() {
        let empty = Tensor::zeros(DType::I32, Shape::new([0]).unwrap());
        for to in DType::ALL {
            assert_eq!(convert(&empty, to).unwrap().dtype(), to);
        }
    }
}
