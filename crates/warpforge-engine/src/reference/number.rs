//! Arithmetic on wide elements, whatever the tensor's type: what sums and products are made of, and the binary ops that
//! can be folded over many elements in any grouping.
//!
//! Invariants: integers wrap as their types do; a NaN met by a maximum or minimum stays.

use std::cmp::Ordering;

use warpforge_hlo::ir::{Binary, CompareKind, Direction};
use warpforge_tensor::{Complex64, DType, Elements, Kind, Shape, Tensor};

use super::body::Body;
use super::place::wrong;
use crate::EngineError;

/// What products are summed in.
pub(super) trait Number: Copy + Send + Sync + 'static {
    /// What a sum begins with.
    const ZERO: Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The product.
    fn times(self, other: Self) -> Self;
}

impl Number for i64 {
    const ZERO: Self = 0;

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }
}

impl Number for Complex64 {
    const ZERO: Self = Self::new(0.0, 0.0);

    fn plus(self, other: Self) -> Self {
        self + other
    }

    fn times(self, other: Self) -> Self {
        self * other
    }
}

/// The integer of a type as a float; `ui64` is kept as the i64 of the same bits.
pub(super) fn real(value: i64, dtype: DType) -> f64 {
    if dtype == DType::U64 { value as u64 as f64 } else { value as f64 }
}

/// The elements in the form those of type `target` are computed in.
pub(super) fn widened(tensor: &Tensor, target: DType) -> Result<Elements, EngineError> {
    let dtype = tensor.dtype();
    let float = |value: i64| real(value, dtype);
    Ok(match (tensor.elements(), target.kind()) {
        (Elements::Integers(values), Kind::Float) => {
            Elements::Floats(values.into_iter().map(float).collect())
        }
        (Elements::Integers(values), Kind::Complex) => {
            Elements::Complex(values.into_iter().map(|value| float(value).into()).collect())
        }
        (Elements::Floats(values), Kind::Complex) => {
            Elements::Complex(values.into_iter().map(Complex64::from).collect())
        }
        (same @ Elements::Integers(_), Kind::Boolean | Kind::Signed | Kind::Unsigned)
        | (same @ Elements::Floats(_), Kind::Float)
        | (same @ Elements::Complex(_), Kind::Complex) => same,
        _ => return Err(EngineError::Unsupported(format!("{target} out of {dtype}"))),
    })
}

/// A function of two elements that commutes and may be applied in any grouping.
#[derive(Clone, Copy)]
pub(super) enum Fold {
    /// On booleans and integers.
    Integers(fn(i64, i64) -> i64),
    /// On floats.
    Floats(fn(f64, f64) -> f64),
    /// On complex numbers.
    Complex(fn(Complex64, Complex64) -> Complex64),
}

impl Fold {
    /// The function of an op on elements of this type, if it is one.
    pub(super) fn of(op: Binary, dtype: DType) -> Option<Self> {
        Some(match (dtype.kind(), op) {
            (Kind::Float, Binary::Add) => Self::Floats(|a, b| a + b),
            (Kind::Float, Binary::Multiply) => Self::Floats(|a, b| a * b),
            (Kind::Float, Binary::Maximum) => Self::Floats(maximum),
            (Kind::Float, Binary::Minimum) => Self::Floats(|a, b| -maximum(-a, -b)),
            (Kind::Complex, Binary::Add) => Self::Complex(|a, b| a + b),
            (Kind::Complex, Binary::Multiply) => Self::Complex(|a, b| a * b),
            (Kind::Boolean, Binary::Add | Binary::Maximum) => Self::Integers(|a, b| a | b),
            (Kind::Boolean, Binary::Multiply | Binary::Minimum) => Self::Integers(|a, b| a & b),
            (Kind::Signed | Kind::Unsigned, Binary::Add) => Self::Integers(i64::wrapping_add),
            (Kind::Signed | Kind::Unsigned, Binary::Multiply) => Self::Integers(i64::wrapping_mul),
            (Kind::Signed, Binary::Maximum) => Self::Integers(i64::max),
            (Kind::Signed, Binary::Minimum) => Self::Integers(i64::min),
            (Kind::Unsigned, Binary::Maximum) => {
                Self::Integers(|a, b| (a as u64).max(b as u64) as i64)
            }
            (Kind::Unsigned, Binary::Minimum) => {
                Self::Integers(|a, b| (a as u64).min(b as u64) as i64)
            }
            (Kind::Boolean | Kind::Signed | Kind::Unsigned, Binary::And) => {
                Self::Integers(|a, b| a & b)
            }
            (Kind::Boolean | Kind::Signed | Kind::Unsigned, Binary::Or) => {
                Self::Integers(|a, b| a | b)
            }
            (Kind::Boolean | Kind::Signed | Kind::Unsigned, Binary::Xor) => {
                Self::Integers(|a, b| a ^ b)
            }
            _ => return None,
        })
    }

    /// The function of a region, where it is one op of this kind.
    pub(super) fn of_body(body: &dyn Body, dtype: DType) -> Option<Self> {
        body.commutative().and_then(|op| Self::of(op, dtype))
    }
}

/// The larger; NaN if either is, and 0 rather than -0.
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        a + b
    } else if a == b {
        if a.is_sign_negative() { b } else { a }
    } else {
        a.max(b)
    }
}

/// A comparison of two elements.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    direction: Direction,
    kind: Option<CompareKind>,
    unsigned: bool,
}

impl Comparison {
    /// The comparison of a region, where it is one of its first two arguments and their type has an order.
    pub(super) fn of_body(body: &dyn Body, dtype: DType) -> Option<Self> {
        let (direction, kind) = body.comparison()?;
        let unsigned = matches!(dtype.kind(), Kind::Unsigned | Kind::Boolean);
        (!dtype.is_complex()).then_some(Self { direction, kind, unsigned })
    }

    /// Whether it holds of two elements, by their places.
    pub(super) fn holds(self, elements: &Elements, first: usize, second: usize) -> bool {
        let order = match elements {
            Elements::Integers(values) if self.unsigned => {
                Some((values[first] as u64).cmp(&(values[second] as u64)))
            }
            Elements::Integers(values) => Some(values[first].cmp(&values[second])),
            Elements::Floats(values) if self.kind == Some(CompareKind::TotalOrder) => {
                Some(values[first].total_cmp(&values[second]))
            }
            Elements::Floats(values) => values[first].partial_cmp(&values[second]),
            Elements::Complex(_) => None,
        };
        match self.direction {
            Direction::Eq => order == Some(Ordering::Equal),
            Direction::Ne => order != Some(Ordering::Equal),
            Direction::Ge => order.is_some_and(Ordering::is_ge),
            Direction::Gt => order == Some(Ordering::Greater),
            Direction::Le => order.is_some_and(Ordering::is_le),
            Direction::Lt => order == Some(Ordering::Less),
        }
    }
}

/// One element as a scalar of a type that holds every value of the tensor's.
pub(super) fn scalar(tensor: &Tensor, place: usize, dtype: DType) -> Result<Tensor, EngineError> {
    if place >= tensor.shape().elements() {
        return Err(wrong(format!("there is no element {place} in {tensor:?}")));
    }
    let bytes = tensor.element_bytes(place);
    let same = Tensor::new(tensor.dtype(), Shape::scalar(), bytes)?;
    if dtype == tensor.dtype() {
        return Ok(same);
    }
    Ok(Tensor::from_elements(dtype, Shape::scalar(), &widened(&same, dtype)?)?)
}

/// The elements of a tensor, put together one by one.
pub(super) struct Collected {
    dtype: DType,
    bytes: Vec<u8>,
}

impl Collected {
    /// Nothing yet, of this type.
    pub(super) fn new(dtype: DType) -> Self {
        Self { dtype, bytes: Vec::new() }
    }

    /// Adds a scalar.
    pub(super) fn push(&mut self, scalar: &Tensor) -> Result<(), EngineError> {
        if scalar.dtype() != self.dtype || scalar.shape().rank() != 0 {
            return Err(wrong(format!("expected a scalar of {}, found {scalar:?}", self.dtype)));
        }
        self.bytes.extend_from_slice(scalar.bytes());
        Ok(())
    }

    /// The tensor of all that was added.
    pub(super) fn finish(self, shape: Shape) -> Result<Tensor, EngineError> {
        Ok(Tensor::new(self.dtype, shape, self.bytes)?)
    }
}

/// Calls a region on what was folded so far and the next elements.
pub(super) fn step(
    body: &mut dyn Body,
    mut state: Vec<Tensor>,
    next: impl IntoIterator<Item = Result<Tensor, EngineError>>,
) -> Result<Vec<Tensor>, EngineError> {
    let count = state.len();
    for element in next {
        state.push(element?);
    }
    let after = body.call(&state)?;
    if after.len() == count {
        Ok(after)
    } else {
        Err(wrong(format!("a region gave {} values instead of {count}", after.len())))
    }
}
