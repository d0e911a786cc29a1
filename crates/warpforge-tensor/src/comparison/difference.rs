//! The difference of two elements, and whether it is allowed.

use num_complex::Complex64;

use super::tolerance::{NonFinitePolicy, Tolerance};
use super::ulp::ulp_distance;
use crate::DType;

/// How far apart two elements are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// The absolute difference; infinite where it is not a number.
    pub(super) absolute: f64,
    /// The absolute difference as a share of the expected value.
    pub(super) relative: f64,
    /// The distance in units of the last place; none where one is not finite.
    pub(super) ulps: Option<u64>,
    /// How much of what is allowed it uses.
    pub(super) share: f64,
    /// Whether it is allowed.
    pub(super) allowed: bool,
}

impl Difference {
    const EQUAL: Self =
        Self { absolute: 0.0, relative: 0.0, ulps: Some(0), share: 0.0, allowed: true };

    /// Of elements that are not finite.
    fn non_finite(allowed: bool) -> Self {
        let size = if allowed { 0.0 } else { f64::INFINITY };
        Self { absolute: size, relative: size, ulps: None, share: size, allowed }
    }
}

/// Judges pairs of elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) tolerance: &'a Tolerance,
    /// The type of the elements, or of their parts, whose last place is the unit.
    pub(super) unit: DType,
}

impl Judge<'_> {
    /// The value of an integer as tensors hand it out.
    pub(super) fn integer(self, value: i64) -> i128 {
        if self.unit == DType::U64 { i128::from(value as u64) } else { i128::from(value) }
    }

    /// Integers and booleans are equal or not.
    pub(super) fn integers(self, actual: i128, expected: i128) -> Difference {
        if actual == expected {
            return Difference::EQUAL;
        }
        let distance = actual.abs_diff(expected);
        let absolute = distance as f64;
        Difference {
            absolute,
            relative: absolute / (expected as f64).abs(),
            ulps: Some(u64::try_from(distance).unwrap_or(u64::MAX)),
            share: f64::INFINITY,
            allowed: false,
        }
    }

    /// Two floats.
    pub(super) fn floats(self, actual: f64, expected: f64) -> Difference {
        if let Some(difference) = self.not_finite(&[actual], &[expected]) {
            return difference;
        }
        if actual == expected {
            return Difference::EQUAL;
        }
        let ulps = ulp_distance(self.unit, actual, expected).unwrap_or(u64::MAX);
        self.finite((actual - expected).abs(), expected.abs(), ulps)
    }

    /// Two complex numbers: the distance in the plane, and the larger distance of a part in units of the last place.
    pub(super) fn complex(self, actual: Complex64, expected: Complex64) -> Difference {
        let parts = ([actual.re, actual.im], [expected.re, expected.im]);
        if let Some(difference) = self.not_finite(&parts.0, &parts.1) {
            return difference;
        }
        if actual == expected {
            return Difference::EQUAL;
        }
        let ulps = parts.0.iter().zip(&parts.1).map(|(actual, expected)| {
            ulp_distance(self.unit, *actual, *expected).unwrap_or(u64::MAX)
        });
        let ulps = ulps.max().unwrap_or(0);
        self.finite((actual - expected).norm(), expected.norm(), ulps)
    }

    /// The verdict where a part of a number is NaN or infinite.
    fn not_finite(self, actual: &[f64], expected: &[f64]) -> Option<Difference> {
        if actual.iter().chain(expected).all(|part| part.is_finite()) {
            return None;
        }
        let nan = |parts: &[f64]| parts.iter().any(|part| part.is_nan());
        let allowed = match (nan(actual), nan(expected)) {
            (true, true) => self.tolerance.nan == NonFinitePolicy::Equal,
            (false, false) => {
                self.tolerance.infinity == NonFinitePolicy::Equal && actual == expected
            }
            _ => false,
        };
        Some(Difference::non_finite(allowed))
    }

    fn finite(self, absolute: f64, expected: f64, ulps: u64) -> Difference {
        let Tolerance { relative, absolute: floor, ulps: ulps_limit, .. } = self.tolerance;
        let bound = floor + relative * expected;
        let within_bound = absolute <= bound;
        let within_ulps = ulps_limit.is_some_and(|limit| ulps <= limit);
        let share_of_ulps = match ulps_limit {
            Some(_) if ulps == 0 => 0.0,
            Some(limit) => ulps as f64 / *limit as f64,
            None => f64::INFINITY,
        };
        Difference {
            absolute,
            relative: absolute / expected,
            ulps: Some(ulps),
            share: (absolute / bound).min(share_of_ulps),
            allowed: within_bound || within_ulps,
        }
    }
}
