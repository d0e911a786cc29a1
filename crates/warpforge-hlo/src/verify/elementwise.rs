//! Ops on each element: unary, binary, comparison, selection, conversion.

use warpforge_tensor::{DType, Kind};

use super::rule::{
    Expected, Rule, Sees, length, merged, plain, same_shape, scalar_of, with_dtype, with_element,
};
use crate::ir::{Binary, CompareKind, Unary};
use crate::types::{ElementType, TensorType};

/// What an op takes: a set of kinds, and whether quantized elements are among them.
struct Takes {
    boolean: bool,
    integer: bool,
    unsigned: bool,
    float: bool,
    complex: bool,
    quantized: bool,
}

const NONE: Takes = Takes {
    boolean: false,
    integer: false,
    unsigned: false,
    float: false,
    complex: false,
    quantized: false,
};
const FLOAT: Takes = Takes { float: true, quantized: true, ..NONE };
const FLOAT_COMPLEX: Takes = Takes { complex: true, ..FLOAT };
const NUMBER: Takes = Takes { integer: true, unsigned: true, ..FLOAT_COMPLEX };
const SIGNED: Takes = Takes { unsigned: false, ..NUMBER };
const INTEGER: Takes = Takes { integer: true, unsigned: true, ..NONE };
const LOGICAL: Takes = Takes { boolean: true, ..INTEGER };
const ANY: Takes = Takes { boolean: true, ..NUMBER };

impl Takes {
    fn check(&self, tensor: &TensorType) -> Rule {
        let taken = match &tensor.element {
            ElementType::Quantized(_) => self.quantized,
            ElementType::Plain(dtype) => match dtype.kind() {
                Kind::Boolean => self.boolean,
                Kind::Signed => self.integer,
                Kind::Unsigned => self.unsigned,
                Kind::Float => self.float,
                Kind::Complex => self.complex,
            },
        };
        if taken {
            Ok(())
        } else {
            Err(format!("elements of type {} are not taken", tensor.element))
        }
    }
}

pub(super) fn unary(sees: &Sees<'_>, unary: Unary) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let takes = match unary {
        Unary::Abs | Unary::Sign | Unary::Negate => SIGNED,
        Unary::Not => LOGICAL,
        Unary::CountLeadingZeros | Unary::PopulationCount => INTEGER,
        Unary::Ceil
        | Unary::Floor
        | Unary::RoundNearestAwayFromZero
        | Unary::RoundNearestEven
        | Unary::IsFinite => FLOAT,
        Unary::Real | Unary::Imag => FLOAT_COMPLEX,
        Unary::ChloSquare | Unary::ChloConj => NUMBER,
        _ => FLOAT_COMPLEX,
    };
    // Negation of unsigned integers wraps; exporters write it.
    if unary == Unary::Negate {
        NUMBER.check(operand)?;
    } else {
        takes.check(operand)?;
    }
    let expected = match unary {
        Unary::IsFinite | Unary::ChloIsInf | Unary::ChloIsNegInf | Unary::ChloIsPosInf => {
            with_dtype(operand, DType::I1)
        }
        Unary::Real | Unary::Imag | Unary::Abs
            if operand.dtype().is_some_and(DType::is_complex) =>
        {
            with_dtype(operand, plain(operand)?.part())
        }
        _ => return same_or_requantized(sees, operand),
    };
    Ok(Expected::tensor(expected))
}

/// A result of the operand's type; quantized ones may have another scale.
fn same_or_requantized(sees: &Sees<'_>, operand: &TensorType) -> Rule<Expected> {
    let quantized = |tensor: &TensorType| tensor.dtype().is_none();
    let requantized = sees.stated && quantized(operand) && quantized(sees.result()?);
    Ok(if requantized {
        Expected::Shapes(vec![operand.clone()])
    } else {
        Expected::tensor(operand.clone())
    })
}

pub(super) fn binary(sees: &Sees<'_>, binary: Binary) -> Rule<Expected> {
    let [lhs, rhs] = sees.operands()?;
    let takes = match binary {
        Binary::And | Binary::Or | Binary::Xor => LOGICAL,
        Binary::ShiftLeft | Binary::ShiftRightArithmetic | Binary::ShiftRightLogical => INTEGER,
        Binary::Add | Binary::Multiply | Binary::Maximum | Binary::Minimum => ANY,
        Binary::Atan2 => FLOAT_COMPLEX,
        Binary::Complex | Binary::ChloNextAfter | Binary::ChloPolygamma | Binary::ChloZeta => FLOAT,
        _ => NUMBER,
    };
    takes.check(lhs)?;
    takes.check(rhs)?;
    if !same_shape(lhs, rhs) {
        return Err(format!("both operands must have one shape, found {lhs} and {rhs}"));
    }
    let all_plain = lhs.dtype().is_some() && rhs.dtype().is_some();
    if all_plain && lhs.element != rhs.element {
        return Err(format!("both operands must have one element type, found {lhs} and {rhs}"));
    }
    if binary == Binary::Complex {
        let Some(complex) = plain(lhs)?.complex_of() else {
            return Err(format!("complex numbers are made of f32 or f64, found {lhs}"));
        };
        return Ok(Expected::tensor(with_dtype(&merged(lhs, rhs), complex)));
    }
    let result = merged(lhs, rhs);
    Ok(if all_plain { Expected::tensor(result) } else { Expected::Shapes(vec![result]) })
}

pub(super) fn compare(sees: &Sees<'_>, kind: Option<CompareKind>) -> Rule<Expected> {
    let [lhs, rhs] = sees.operands()?;
    if !same_shape(lhs, rhs) || lhs.element != rhs.element {
        return Err(format!("both operands must have one type, found {lhs} and {rhs}"));
    }
    if let (Some(kind), Some(dtype)) = (kind, lhs.dtype()) {
        let fits = match dtype.kind() {
            Kind::Signed => kind == CompareKind::Signed,
            // Exporters write SIGNED for booleans too; the answer is the same.
            Kind::Boolean => matches!(kind, CompareKind::Unsigned | CompareKind::Signed),
            Kind::Unsigned => kind == CompareKind::Unsigned,
            Kind::Float => matches!(kind, CompareKind::Float | CompareKind::TotalOrder),
            Kind::Complex => kind == CompareKind::Float,
        };
        if !fits {
            return Err(format!("{} cannot compare elements of type {dtype}", kind.name()));
        }
    }
    Ok(Expected::tensor(with_dtype(&merged(lhs, rhs), DType::I1)))
}

pub(super) fn select(sees: &Sees<'_>) -> Rule<Expected> {
    let [predicate, on_true, on_false] = sees.operands()?;
    if predicate.dtype() != Some(DType::I1) {
        return Err(format!("the predicate must be of i1, found {predicate}"));
    }
    if predicate.rank() != 0 && !same_shape(predicate, on_true) {
        return Err(format!(
            "the predicate must be a scalar or have the shape of {on_true}, found {predicate}"
        ));
    }
    if !same_shape(on_true, on_false) || on_true.element != on_false.element {
        return Err(format!("both choices must have one type, found {on_true} and {on_false}"));
    }
    Ok(Expected::tensor(merged(on_true, on_false)))
}

pub(super) fn clamp(sees: &Sees<'_>) -> Rule<Expected> {
    let [low, operand, high] = sees.operands()?;
    for bound in [low, high] {
        if bound.element != operand.element {
            return Err(format!("bounds must have the elements of {operand}, found {bound}"));
        }
        if bound.rank() != 0 && !same_shape(bound, operand) {
            return Err(format!(
                "a bound must be a scalar or have the shape of {operand}, found {bound}"
            ));
        }
    }
    Ok(Expected::tensor(operand.clone()))
}

pub(super) fn convert(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let result = sees.result()?;
    if same_shape(operand, result) {
        Ok(Expected::Stated)
    } else {
        Err(format!("the result must have the shape of {operand}, found {result}"))
    }
}

pub(super) fn bitcast_convert(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let result = sees.result()?;
    let (from, to) = (operand.storage().bits(), result.storage().bits());
    let complex = |tensor: &TensorType| tensor.dtype().is_some_and(DType::is_complex);
    if complex(operand) != complex(result) {
        return Err("complex numbers can only be reinterpreted as complex numbers".into());
    }
    // The narrower side has one more dimension, as long as the wider element holds narrower ones.
    let (wide, narrow, ratio) = match from.cmp(&to) {
        std::cmp::Ordering::Equal => {
            return if same_shape(operand, result) {
                Ok(Expected::Stated)
            } else {
                Err(format!("the result must have the shape of {operand}, found {result}"))
            };
        }
        std::cmp::Ordering::Greater => (operand, result, from / to.max(1)),
        std::cmp::Ordering::Less => (result, operand, to / from.max(1)),
    };
    if from.max(to) % from.min(to).max(1) != 0 {
        return Err(format!("elements of {from} bits cannot be reinterpreted as elements of {to}"));
    }
    let fits = narrow.rank() == wide.rank() + 1
        && narrow.dimensions[..wide.rank()] == wide.dimensions[..]
        && narrow
            .dimensions
            .last()
            .and_then(|last| last.size())
            .is_none_or(|last| last == ratio as u64);
    if fits {
        Ok(Expected::Stated)
    } else {
        Err(format!("{narrow} must be {wide} with a last dimension of {ratio} added"))
    }
}

pub(super) fn reduce_precision(
    sees: &Sees<'_>,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    FLOAT.check(operand)?;
    if exponent_bits < 1 || mantissa_bits < 0 {
        return Err(format!(
            "a format needs at least 1 bit of exponent and 0 of mantissa, found e{exponent_bits}m{mantissa_bits}"
        ));
    }
    Ok(Expected::tensor(operand.clone()))
}

pub(super) fn map(sees: &Sees<'_>, dimensions: &[i64]) -> Rule<Expected> {
    let operands = sees.tensors()?;
    let Some(first) = operands.first() else { return Err("expected at least 1 operand".into()) };
    if let Some(other) = operands.iter().find(|other| !same_shape(first, other)) {
        return Err(format!("all operands must have one shape, found {first} and {other}"));
    }
    length("dimensions", dimensions.len(), first.rank())?;
    if !dimensions.iter().enumerate().all(|(index, dimension)| index as i64 == *dimension) {
        return Err(format!("dimensions must be all dimensions in order, found {dimensions:?}"));
    }
    let scalars: Vec<TensorType> = operands.iter().map(|operand| scalar_of(operand)).collect();
    let region = sees.region()?;
    let returned = sees.returned(region);
    let Some(scalar) = returned.first().and_then(|ty| ty.tensor()).map(scalar_of) else {
        return Err("its region must return a scalar".into());
    };
    sees.region_is(region, &scalars, std::slice::from_ref(&scalar))?;
    Ok(Expected::tensor(with_element(first, scalar.element)))
}
