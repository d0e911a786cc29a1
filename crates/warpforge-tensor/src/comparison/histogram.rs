//! How many errors there are of each size.

use serde::{Deserialize, Serialize};

/// What separates one bucket from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scale {
    /// A factor of ten.
    Decades,
    /// A factor of two.
    PowersOfTwo,
}

impl Scale {
    /// The powers that have a bucket; what is smaller or larger goes to the outermost ones.
    fn powers(self) -> (i32, i32) {
        match self {
            Self::Decades => (-18, 2),
            Self::PowersOfTwo => (0, 32),
        }
    }

    fn power(self, error: f64) -> i32 {
        let power = match self {
            Self::Decades => error.log10(),
            Self::PowersOfTwo => error.log2(),
        };
        let (low, high) = self.powers();
        // Casts of what is out of range, infinity included, stop at the ends of i32.
        (power.floor() as i32).clamp(low, high)
    }
}

/// Errors by size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    scale: Scale,
    /// How many elements have no error.
    exact: u64,
    /// From the smallest power that has a bucket to the largest.
    counts: Vec<u64>,
}

/// Errors of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// The smallest error in it; the first bucket also holds everything smaller.
    pub from: f64,
    /// How many errors it holds.
    pub count: u64,
}

impl Histogram {
    pub(super) fn new(scale: Scale) -> Self {
        let (low, high) = scale.powers();
        Self { scale, exact: 0, counts: vec![0; (high - low + 1) as usize] }
    }

    /// Counts one error.
    pub(super) fn add(&mut self, error: f64) {
        if error == 0.0 {
            self.exact += 1;
        } else {
            let bucket = self.scale.power(error) - self.scale.powers().0;
            self.counts[bucket as usize] += 1;
        }
    }

    /// How many elements have no error at all.
    pub fn exact(&self) -> u64 {
        self.exact
    }

    /// The buckets that hold something, from small errors to large.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let (low, _) = self.scale.powers();
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(
            move |(place, count)| {
                let power = low + place as i32;
                let from = match self.scale {
                    Scale::Decades => 10_f64.powi(power),
                    Scale::PowersOfTwo => 2_f64.powi(power),
                };
                Bucket { from, count: *count }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_find_their_bucket() {
        let mut decades = Histogram::new(Scale::Decades);
        for error in [0.0, 3e-7, 5e-7, 2.0, 1e-300, f64::INFINITY] {
            decades.add(error);
        }
        let found: Vec<(f64, u64)> =
            decades.buckets().map(|bucket| (bucket.from, bucket.count)).collect();
        assert_eq!(decades.exact(), 1);
        assert_eq!(found.len(), 4);
        let powers: Vec<i32> = found.iter().map(|(from, _)| from.log10().round() as i32).collect();
        assert_eq!(powers, [-18, -7, 0, 2]);
        assert_eq!(found[1].1, 2);
        let mut ulps = Histogram::new(Scale::PowersOfTwo);
        for error in [1.0, 2.0, 3.0, 4.0, u64::MAX as f64] {
            ulps.add(error);
        }
        let found: Vec<(f64, u64)> =
            ulps.buckets().map(|bucket| (bucket.from, bucket.count)).collect();
        assert_eq!(found, [(1.0, 1), (2.0, 2), (4.0, 1), (4294967296.0, 1)]);
    }
}
