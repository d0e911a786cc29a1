//! Noise floors between runs: how far apart unchanged runs of a machine come out, by metric, as its history shows.
//!
//! What a null measurement (A against A, interleaved) says is not used here: it leaves out what differs between
//! separate runs, which is most of the noise a comparison of records has to survive.

use std::collections::BTreeMap;

use crate::trends::Trends;

/// The noise floor of each metric, as a relative difference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoiseFloors {
    by_metric: BTreeMap<String, f64>,
}

impl NoiseFloors {
    /// Floors from pairs of metric identifier and relative difference; impossible values are left out, and of several
    /// for one metric the largest holds.
    pub fn new(floors: impl IntoIterator<Item = (String, f64)>) -> Self {
        let mut by_metric = BTreeMap::new();
        for (metric, floor) in floors {
            if floor.is_finite() && floor >= 0.0 {
                let known = by_metric.entry(metric).or_insert(floor);
                *known = floor.max(*known);
            }
        }
        Self { by_metric }
    }

    /// The floors that series show since they last changed.
    pub fn from_trends(trends: &Trends) -> Self {
        Self::new(
            trends
                .series
                .iter()
                .filter_map(|trend| Some((trend.key.metric.clone(), trend.noise_between_runs()?))),
        )
    }

    /// The floor of a metric, where one is known.
    pub fn of(&self, metric: &str) -> Option<f64> {
        self.by_metric.get(metric).copied()
    }

    /// How many metrics have one.
    pub fn len(&self) -> usize {
        self.by_metric.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.by_metric.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_floors_are_left_out_and_the_largest_of_several_holds() {
        let floors = [("a", 0.02), ("a", 0.05), ("a", 0.01), ("b", f64::NAN), ("c", -1.0)];
        let floors = NoiseFloors::new(floors.map(|(id, floor)| (id.to_owned(), floor)));
        assert_eq!((floors.of("a"), floors.of("b"), floors.len()), (Some(0.05), None, 1));
    }
}
