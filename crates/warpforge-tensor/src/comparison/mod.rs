//! How close two tensors are, element by element, judged by a [`Tolerance`].
//!
//! Invariants: every element is looked at once, in blocks, so a comparison needs no memory that grows with the tensors;
//! sums are kept in f64; a comparison has passed exactly when it counted no mismatch.

mod difference;
mod histogram;
mod number;
mod report;
#[cfg(test)]
mod tests;
mod tolerance;
mod ulp;

use serde::{Deserialize, Serialize};

pub use histogram::{Bucket, Histogram};
pub use number::Number;
pub use tolerance::{NonFinitePolicy, Preset, Tolerance};
pub use ulp::ulp_distance;

use crate::{DType, Elements, Kind, Shape, Tensor, TensorError};
use difference::{Difference, Judge};
use histogram::Scale;

/// How many elements are made wide at a time.
const BLOCK: usize = 1 << 14;

/// What comparing two tensors found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The element type of the tensor that was judged.
    pub dtype: DType,
    /// The sizes of both tensors.
    pub shape: Vec<usize>,
    /// What was allowed.
    pub tolerance: Tolerance,
    /// How many elements there are.
    pub elements: u64,
    /// How many of them differ by more than is allowed.
    pub mismatches: u64,
    /// How many are NaN.
    pub nan: Counts,
    /// How many are infinite.
    pub infinite: Counts,
    /// The largest absolute error of finite elements.
    #[serde(with = "number::text_if_not_finite")]
    pub max_absolute_error: f64,
    /// The largest relative error of finite elements; infinite where 0 was expected and not found.
    #[serde(with = "number::text_if_not_finite")]
    pub max_relative_error: f64,
    /// The largest distance of finite elements in units of the last place; the plain difference for integers.
    pub max_ulps: u64,
    /// The mean absolute error of finite elements; 0 where there are none.
    #[serde(with = "number::text_if_not_finite")]
    pub mean_absolute_error: f64,
    /// The cosine of the angle between the tensors as vectors of their finite elements; none where one has no length.
    pub cosine_similarity: Option<f64>,
    /// The element that uses most of what is allowed, or exceeds it most; none where all are equal.
    pub worst: Option<Worst>,
    /// Finite elements by decade of their relative error.
    pub relative_errors: Histogram,
    /// Finite elements by powers of two of their distance in units of the last place.
    pub ulps: Histogram,
}

/// A count for each of the two tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// In the tensor that is judged.
    pub actual: u64,
    /// In the tensor it is judged by.
    pub expected: u64,
}

/// The element that differs most, measured by what is allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// Where it is, one index for each dimension.
    pub index: Vec<usize>,
    /// The value that is judged.
    pub actual: Number,
    /// The value it is judged by.
    pub expected: Number,
    /// Their absolute difference; infinite where it is not a number.
    #[serde(with = "number::text_if_not_finite")]
    pub absolute_error: f64,
    /// The absolute difference as a share of the expected value.
    #[serde(with = "number::text_if_not_finite")]
    pub relative_error: f64,
    /// The distance in units of the last place; none where one is not finite.
    pub ulps: Option<u64>,
    /// How much of what is allowed the difference uses: above 1 is a mismatch.
    #[serde(with = "number::text_if_not_finite")]
    pub share: f64,
}

impl Comparison {
    /// Compares two tensors of one shape. Float types may differ: units of the last place are then those of the narrower
    /// one. Other types must be the same.
    pub fn new(
        actual: &Tensor,
        expected: &Tensor,
        tolerance: &Tolerance,
    ) -> Result<Self, TensorError> {
        let unit = unit(actual, expected)?;
        let mut tally = Tally::new(Judge { tolerance, unit });
        let (actual_size, expected_size) = (actual.dtype().bytes(), expected.dtype().bytes());
        let blocks = actual
            .bytes()
            .chunks(BLOCK * actual_size)
            .zip(expected.bytes().chunks(BLOCK * expected_size));
        for (actual_block, expected_block) in blocks {
            tally.block(
                &Elements::from_bytes(actual.dtype(), actual_block),
                &Elements::from_bytes(expected.dtype(), expected_block),
            );
        }
        Ok(tally.finish(actual, expected))
    }

    /// Whether no element differs by more than is allowed.
    pub fn passed(&self) -> bool {
        self.mismatches == 0
    }
}

/// The type whose last place is the unit; an error where the tensors cannot be compared.
fn unit(actual: &Tensor, expected: &Tensor) -> Result<DType, TensorError> {
    let (left, right) = (actual.dtype(), expected.dtype());
    let same_kind =
        left.kind() == right.kind() && matches!(left.kind(), Kind::Float | Kind::Complex);
    if (left != right && !same_kind) || actual.shape() != expected.shape() {
        return Err(TensorError::Incomparable {
            actual: format!("{left} [{}]", actual.shape()),
            expected: format!("{right} [{}]", expected.shape()),
        });
    }
    let narrower = if left.bits() <= right.bits() { left } else { right };
    Ok(if left.kind() == Kind::Complex { narrower.part() } else { narrower })
}

/// What has been counted so far.
struct Tally<'a> {
    judge: Judge<'a>,
    place: usize,
    finite: u64,
    mismatches: u64,
    nan: Counts,
    infinite: Counts,
    sum_of_errors: f64,
    max_absolute_error: f64,
    max_relative_error: f64,
    max_ulps: u64,
    product: f64,
    actual_square: f64,
    expected_square: f64,
    worst: Option<(usize, Difference)>,
    relative_errors: Histogram,
    ulps: Histogram,
}

impl<'a> Tally<'a> {
    fn new(judge: Judge<'a>) -> Self {
        Self {
            judge,
            place: 0,
            finite: 0,
            mismatches: 0,
            nan: Counts::default(),
            infinite: Counts::default(),
            sum_of_errors: 0.0,
            max_absolute_error: 0.0,
            max_relative_error: 0.0,
            max_ulps: 0,
            product: 0.0,
            actual_square: 0.0,
            expected_square: 0.0,
            worst: None,
            relative_errors: Histogram::new(Scale::Decades),
            ulps: Histogram::new(Scale::PowersOfTwo),
        }
    }

    fn block(&mut self, actual: &Elements, expected: &Elements) {
        match (actual, expected) {
            (Elements::Integers(actual), Elements::Integers(expected)) => {
                for (&actual, &expected) in actual.iter().zip(expected) {
                    let (actual, expected) =
                        (self.judge.integer(actual), self.judge.integer(expected));
                    self.count(self.judge.integers(actual, expected));
                    self.project([actual as f64, 0.0], [expected as f64, 0.0]);
                }
            }
            (Elements::Floats(actual), Elements::Floats(expected)) => {
                for (&actual, &expected) in actual.iter().zip(expected) {
                    self.non_finite([actual, 0.0], [expected, 0.0]);
                    self.count(self.judge.floats(actual, expected));
                    self.project([actual, 0.0], [expected, 0.0]);
                }
            }
            (Elements::Complex(actual), Elements::Complex(expected)) => {
                for (actual, expected) in actual.iter().zip(expected) {
                    self.non_finite([actual.re, actual.im], [expected.re, expected.im]);
                    self.count(self.judge.complex(*actual, *expected));
                    self.project([actual.re, actual.im], [expected.re, expected.im]);
                }
            }
            _ => unreachable!("both tensors hold numbers of one kind"),
        }
    }

    fn non_finite(&mut self, actual: [f64; 2], expected: [f64; 2]) {
        let nan = |parts: [f64; 2]| u64::from(parts.iter().any(|part| part.is_nan()));
        let infinite = |parts: [f64; 2]| u64::from(parts.iter().any(|part| part.is_infinite()));
        self.nan.actual += nan(actual);
        self.nan.expected += nan(expected);
        self.infinite.actual += infinite(actual);
        self.infinite.expected += infinite(expected);
    }

    /// Counts the difference of the next element.
    fn count(&mut self, difference: Difference) {
        let place = self.place;
        self.place += 1;
        self.mismatches += u64::from(!difference.allowed);
        if let Some(ulps) = difference.ulps {
            self.finite += 1;
            self.sum_of_errors += difference.absolute;
            self.max_absolute_error = self.max_absolute_error.max(difference.absolute);
            self.max_relative_error = self.max_relative_error.max(difference.relative);
            self.max_ulps = self.max_ulps.max(ulps);
            self.relative_errors.add(difference.relative);
            self.ulps.add(ulps as f64);
        }
        let worse = match &self.worst {
            None => difference.share > 0.0,
            Some((_, worst)) => {
                (difference.share, difference.absolute) > (worst.share, worst.absolute)
            }
        };
        if worse {
            self.worst = Some((place, difference));
        }
    }

    /// Adds a pair to the products behind the cosine; pairs that are not finite have no direction.
    fn project(&mut self, actual: [f64; 2], expected: [f64; 2]) {
        if actual.iter().chain(&expected).all(|part| part.is_finite()) {
            self.product += actual[0] * expected[0] + actual[1] * expected[1];
            self.actual_square += actual[0] * actual[0] + actual[1] * actual[1];
            self.expected_square += expected[0] * expected[0] + expected[1] * expected[1];
        }
    }

    fn finish(self, actual: &Tensor, expected: &Tensor) -> Comparison {
        // Two roots, not the root of a product: that would overflow for lengths whose squares do not.
        let lengths = self.actual_square.sqrt() * self.expected_square.sqrt();
        let cosine = self.product / lengths;
        let mean = if self.finite == 0 { 0.0 } else { self.sum_of_errors / self.finite as f64 };
        Comparison {
            dtype: actual.dtype(),
            shape: actual.shape().sizes().to_vec(),
            tolerance: self.judge.tolerance.clone(),
            elements: self.place as u64,
            mismatches: self.mismatches,
            nan: self.nan,
            infinite: self.infinite,
            max_absolute_error: self.max_absolute_error,
            max_relative_error: self.max_relative_error,
            max_ulps: self.max_ulps,
            mean_absolute_error: mean,
            cosine_similarity: cosine.is_finite().then(|| cosine.clamp(-1.0, 1.0)),
            worst: self.worst.map(|(place, difference)| Worst {
                index: index_of(place, actual.shape()),
                actual: Number::of(actual, place),
                expected: Number::of(expected, place),
                absolute_error: difference.absolute,
                relative_error: difference.relative,
                ulps: difference.ulps,
                share: difference.share,
            }),
            relative_errors: self.relative_errors,
            ulps: self.ulps,
        }
    }
}

/// The index of an element in each dimension, from its row-major place.
fn index_of(place: usize, shape: &Shape) -> Vec<usize> {
    let sizes = shape.sizes().iter();
    shape.strides().iter().zip(sizes).map(|(stride, size)| place / stride % size).collect()
}
