//! Comparing, choosing and limiting elements.

use std::cmp::Ordering;

use warpforge_hlo::ir::{CompareKind, Direction};
use warpforge_tensor::{DType, Elements, Kind, Shape, Tensor};

use super::binary::{maximum, minimum};
use super::{integer, unsupported};
use crate::EngineError;
use crate::reference::scalar::Scalar;

/// Which order two elements stand in; none where one of them is not a number.
fn order(a: Scalar, b: Scalar, dtype: DType, total: bool) -> Option<Ordering> {
    match (a, b) {
        (Scalar::Integer(a), Scalar::Integer(b)) if dtype.kind() == Kind::Signed => Some(a.cmp(&b)),
        (Scalar::Integer(a), Scalar::Integer(b)) => Some((a as u64).cmp(&(b as u64))),
        (Scalar::Float(a), Scalar::Float(b)) if total => Some(a.total_cmp(&b)),
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(&b),
        (Scalar::Complex(a), Scalar::Complex(b)) => {
            (a.re, a.im).partial_cmp(&(b.re, b.im)).filter(|_| !a.im.is_nan() && !b.im.is_nan())
        }
        _ => None,
    }
}

/// Whether a comparison holds; with an element that is not a number only `NE` does.
pub(in crate::reference) fn compare_scalars(
    direction: Direction,
    kind: Option<CompareKind>,
    (a, b): (Scalar, Scalar),
    dtype: DType,
) -> bool {
    let order = order(a, b, dtype, kind == Some(CompareKind::TotalOrder));
    match direction {
        Direction::Eq => order == Some(Ordering::Equal),
        Direction::Ne => order != Some(Ordering::Equal),
        Direction::Ge => order.is_some_and(Ordering::is_ge),
        Direction::Gt => order.is_some_and(Ordering::is_gt),
        Direction::Le => order.is_some_and(Ordering::is_le),
        Direction::Lt => order.is_some_and(Ordering::is_lt),
    }
}

/// Compares every pair of elements.
pub(in crate::reference) fn compare(
    direction: Direction,
    kind: Option<CompareKind>,
    lhs: &Tensor,
    rhs: &Tensor,
) -> Result<Tensor, EngineError> {
    let dtype = lhs.dtype();
    let holds = |a: Scalar, b: Scalar| u8::from(compare_scalars(direction, kind, (a, b), dtype));
    let answers: Vec<u8> = match (lhs.elements(), rhs.elements()) {
        (Elements::Integers(a), Elements::Integers(b)) => {
            let pairs = a.into_iter().zip(b);
            pairs.map(|(a, b)| holds(Scalar::Integer(a), Scalar::Integer(b))).collect()
        }
        (Elements::Floats(a), Elements::Floats(b)) => {
            let pairs = a.into_iter().zip(b);
            pairs.map(|(a, b)| holds(Scalar::Float(a), Scalar::Float(b))).collect()
        }
        (Elements::Complex(a), Elements::Complex(b)) => {
            let pairs = a.into_iter().zip(b);
            pairs.map(|(a, b)| holds(Scalar::Complex(a), Scalar::Complex(b))).collect()
        }
        _ => return Err(unsupported("stablehlo.compare", lhs)),
    };
    Ok(Tensor::new(DType::I1, lhs.shape().clone(), answers)?)
}

/// Takes each element from one of two tensors; a predicate of one element stands for all.
pub(in crate::reference) fn select(
    predicate: &Tensor,
    on_true: &Tensor,
    on_false: &Tensor,
) -> Result<Tensor, EngineError> {
    if predicate.shape().rank() == 0 {
        let chosen = if predicate.bytes().first() == Some(&0) { on_false } else { on_true };
        return Ok(chosen.clone());
    }
    let width = on_true.dtype().bytes();
    let mut bytes = Vec::with_capacity(on_true.bytes().len());
    let choices = on_true.bytes().chunks_exact(width).zip(on_false.bytes().chunks_exact(width));
    for (flag, (yes, no)) in predicate.bytes().iter().zip(choices) {
        bytes.extend_from_slice(if *flag == 0 { no } else { yes });
    }
    Ok(Tensor::new(on_true.dtype(), on_true.shape().clone(), bytes)?)
}

/// One element between two bounds.
pub(in crate::reference) fn clamp_scalar(
    low: Scalar,
    value: Scalar,
    high: Scalar,
    dtype: DType,
) -> Option<Scalar> {
    Some(match (low, value, high) {
        (Scalar::Integer(low), Scalar::Integer(value), Scalar::Integer(high)) => {
            let raised = integer::maximum(low, value, dtype);
            Scalar::Integer(integer::minimum(raised, high, dtype))
        }
        (Scalar::Float(low), Scalar::Float(value), Scalar::Float(high)) => {
            Scalar::Float(minimum(maximum(low, value), high))
        }
        _ => return None,
    })
}

/// Every element between two bounds, which are scalars or have the operand's shape.
pub(in crate::reference) fn clamp(
    low: &Tensor,
    operand: &Tensor,
    high: &Tensor,
) -> Result<Tensor, EngineError> {
    fn at<T: Copy>(values: &[T], place: usize) -> T {
        if values.len() == 1 { values[0] } else { values[place] }
    }
    let dtype = operand.dtype();
    let fits =
        |bound: &Tensor| bound.shape() == &Shape::scalar() || bound.shape() == operand.shape();
    if !fits(low) || !fits(high) {
        return Err(EngineError::Value("the bounds do not have the operand's shape".into()));
    }
    let elements = match (low.elements(), operand.elements(), high.elements()) {
        (Elements::Integers(low), Elements::Integers(values), Elements::Integers(high)) => {
            let limited = |(place, value): (usize, &i64)| {
                let raised = integer::maximum(at(&low, place), *value, dtype);
                integer::minimum(raised, at(&high, place), dtype)
            };
            Elements::Integers(values.iter().enumerate().map(limited).collect())
        }
        (Elements::Floats(low), Elements::Floats(values), Elements::Floats(high)) => {
            let limited = |(place, value): (usize, &f64)| {
                minimum(maximum(at(&low, place), *value), at(&high, place))
            };
            Elements::Floats(values.iter().enumerate().map(limited).collect())
        }
        _ => return Err(unsupported("stablehlo.clamp", operand)),
    };
    Ok(Tensor::from_elements(dtype, operand.shape().clone(), &elements)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(direction: Direction, kind: CompareKind, a: f64, b: f64) -> bool {
        let pair = (Scalar::Float(a), Scalar::Float(b));
        compare_scalars(direction, Some(kind), pair, DType::F32)
    }

    #[test]
    fn the_total_order_knows_every_float() {
        use CompareKind::{Float, TotalOrder};
        assert!(holds(Direction::Eq, Float, 0.0, -0.0));
        assert!(holds(Direction::Lt, TotalOrder, -0.0, 0.0));
        assert!(holds(Direction::Gt, TotalOrder, f64::NAN, f64::INFINITY));
        assert!(holds(Direction::Lt, TotalOrder, -f64::NAN, f64::NEG_INFINITY));
        assert!(holds(Direction::Ne, Float, f64::NAN, f64::NAN));
        assert!(!holds(Direction::Ge, Float, f64::NAN, 1.0));
    }

    #[test]
    fn unsigned_integers_have_no_sign() {
        let pair = (Scalar::Integer(-1), Scalar::Integer(1));
        assert!(compare_scalars(Direction::Gt, None, pair, DType::U64));
        assert!(compare_scalars(Direction::Lt, None, pair, DType::I64));
    }

    #[test]
    fn a_bound_may_be_one_for_all() {
        let vector = |values: Vec<f64>| {
            Tensor::from_floats(DType::F32, Shape::new([values.len()]).unwrap(), values).unwrap()
        };
        let low = Tensor::from_floats(DType::F32, Shape::scalar(), vec![0.0]).unwrap();
        let high = vector(vec![1.0, 2.0, 3.0]);
        let found = clamp(&low, &vector(vec![-1.0, 9.0, f64::NAN]), &high).unwrap();
        let found = found.floats().unwrap();
        assert_eq!(&found[..2], [0.0, 2.0]);
        assert!(found[2].is_nan());
    }
}
