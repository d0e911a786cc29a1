//! Ops of the `chlo` dialect that are StableHLO ops with broadcasting, or constants like another tensor.

use warpforge_hlo::attribute::{Attribute, Attributes};
use warpforge_hlo::ir::{Binary, CompareKind, Direction};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::{Complex64, Kind, Shape, Tensor};

use super::elementwise;
use super::scalar::Scalar;
use super::shape::{broadcast_in_dim, constant, too_large};
use crate::EngineError;

/// Executes an op by its name.
pub(super) fn execute(
    name: &str,
    attributes: &Attributes,
    operands: &[Tensor],
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let unsupported = || EngineError::Unsupported(name.to_owned());
    match (name, operands) {
        ("chlo.constant_like", [like]) => {
            constant_like(attributes.get("value"), like, result).ok_or_else(unsupported)?
        }
        ("chlo.constant", []) => match attributes.get("value") {
            Some(Attribute::Dense(dense)) => constant(dense),
            _ => Err(unsupported()),
        },
        ("chlo.broadcast_select", [predicate, on_true, on_false]) => {
            let shape = [predicate, on_true, on_false]
                .into_iter()
                .try_fold(Shape::scalar(), |shape, tensor| common(&shape, tensor.shape(), None))?;
            let spread = |tensor: &Tensor| stretched(tensor, &shape, None);
            elementwise::select(&spread(predicate)?, &spread(on_true)?, &spread(on_false)?)
        }
        ("chlo.broadcast_compare", [lhs, rhs]) => {
            let (lhs, rhs) = pair(lhs, rhs, attributes)?;
            let direction = choice(attributes, "comparison_direction")
                .and_then(|name| Direction::from_name(&name))
                .ok_or_else(unsupported)?;
            let kind =
                choice(attributes, "compare_type").and_then(|name| CompareKind::from_name(&name));
            elementwise::compare(direction, kind, &lhs, &rhs)
        }
        (name, [lhs, rhs]) => {
            let binary = name
                .strip_prefix("chlo.broadcast_")
                .and_then(|short| {
                    Binary::from_name(&format!("stablehlo.{short}"))
                        .or_else(|| Binary::from_name(&format!("chlo.{short}")))
                })
                .ok_or_else(unsupported)?;
            let (lhs, rhs) = pair(lhs, rhs, attributes)?;
            elementwise::binary(binary, &lhs, &rhs, result.storage())
        }
        _ => Err(unsupported()),
    }
}

/// The word of an enumeration, whichever way it is written.
fn choice(attributes: &Attributes, name: &str) -> Option<String> {
    match attributes.get(name)? {
        Attribute::Enumeration { value, .. } => Some(value.clone()),
        Attribute::Opaque { body, .. } => Some(body.trim().to_owned()),
        other => other.as_text().map(str::to_owned),
    }
}

fn constant_like(
    value: Option<&Attribute>,
    like: &Tensor,
    result: &TensorType,
) -> Option<Result<Tensor, EngineError>> {
    let dtype = result.dtype()?;
    let scalar = match (value?, dtype.kind()) {
        (Attribute::Integer { value, .. }, Kind::Float) => Scalar::Float(*value as f64),
        (Attribute::Integer { value, .. }, Kind::Complex) => {
            Scalar::Complex(Complex64::new(*value as f64, 0.0))
        }
        (Attribute::Integer { value, .. }, _) => Scalar::Integer(*value as i64),
        (Attribute::Bool(value), Kind::Boolean) => Scalar::Integer(i64::from(*value)),
        (Attribute::Float { value, .. }, Kind::Float) => Scalar::Float(*value),
        (Attribute::Float { value, .. }, Kind::Complex) => {
            Scalar::Complex(Complex64::new(*value, 0.0))
        }
        _ => return None,
    };
    Some(
        scalar
            .tensor(dtype)
            .map_err(EngineError::from)
            .and_then(|one| broadcast_in_dim(&one, like.shape().clone(), &[])),
    )
}

/// Both operands in their common shape.
fn pair(
    lhs: &Tensor,
    rhs: &Tensor,
    attributes: &Attributes,
) -> Result<(Tensor, Tensor), EngineError> {
    let dimensions = match attributes.get("broadcast_dimensions") {
        Some(Attribute::IntegerArray { values, .. }) => Some(values.as_slice()),
        _ => None,
    };
    let shape = common(lhs.shape(), rhs.shape(), dimensions)?;
    Ok((stretched(lhs, &shape, dimensions)?, stretched(rhs, &shape, dimensions)?))
}

/// Where the dimensions of a shape of lower rank go: as stated, or to the last ones.
fn places(rank: usize, of: usize, dimensions: Option<&[i64]>) -> Vec<i64> {
    match dimensions {
        Some(dimensions) if rank < of && dimensions.len() == rank => dimensions.to_vec(),
        _ => (of.saturating_sub(rank)..of).map(|axis| axis as i64).collect(),
    }
}

fn common(a: &Shape, b: &Shape, dimensions: Option<&[i64]>) -> Result<Shape, EngineError> {
    let (long, short) = if a.rank() >= b.rank() { (a, b) } else { (b, a) };
    let mut sizes = long.sizes().to_vec();
    for (size, place) in short.sizes().iter().zip(places(short.rank(), long.rank(), dimensions)) {
        let target = usize::try_from(place)
            .ok()
            .and_then(|place| sizes.get_mut(place))
            .ok_or_else(|| EngineError::Value(format!("there is no dimension {place}")))?;
        match (*target, *size) {
            (1, other) => *target = other,
            (target, other) if other == 1 || other == target => {}
            _ => {
                return Err(EngineError::Value(format!(
                    "shapes [{a}] and [{b}] cannot be broadcast to one"
                )));
            }
        }
    }
    Shape::new(sizes).map_err(too_large)
}

fn stretched(
    tensor: &Tensor,
    shape: &Shape,
    dimensions: Option<&[i64]>,
) -> Result<Tensor, EngineError> {
    if tensor.shape() == shape {
        return Ok(tensor.clone());
    }
    let places = places(tensor.shape().rank(), shape.rank(), dimensions);
    broadcast_in_dim(tensor, shape.clone(), &places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_tensor::DType;

    #[test]
    fn operands_of_different_rank_meet() {
        let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
        let lhs = Tensor::from_integers(DType::I32, shape(&[2, 3]), (0..6).collect()).unwrap();
        let rhs = Tensor::from_integers(DType::I32, shape(&[2]), vec![10, 20]).unwrap();
        let mut attributes = Attributes::default();
        attributes.push("broadcast_dimensions", Attribute::i64s(&[0]));
        let ty = TensorType::new(DType::I32, &[2, 3]);
        let sum = execute("chlo.broadcast_add", &attributes, &[lhs.clone(), rhs], &ty).unwrap();
        assert_eq!(sum.integers(), Ok(vec![10, 11, 12, 23, 24, 25]));
        let scalar = Tensor::from_integers(DType::I32, Shape::scalar(), vec![2]).unwrap();
        let none = Attributes::default();
        let product = execute("chlo.broadcast_multiply", &none, &[scalar, lhs], &ty).unwrap();
        assert_eq!(product.integers(), Ok(vec![0, 2, 4, 6, 8, 10]));
    }
}
