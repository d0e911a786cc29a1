//! What free runs are judged by beside their curves: metrics within a band around the golden ones, and the targets that the golden
//! run itself should reach.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::free_run::{Curve, final_loss};

/// The most that the mean of a metric in percent may be off, in points.
pub const METRIC_POINTS: f64 = 0.5;
/// The target for the speed here, as a part of the golden run's.
const THROUGHPUT: &str = "throughput";

/// A metric at the end of training, the mean over the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricJudged {
    /// Its name.
    pub name: String,
    /// Here.
    pub own: f64,
    /// In the golden runs.
    pub golden: f64,
    /// The most that they may differ.
    pub allowed: f64,
    /// Whether they do not differ by more.
    pub matches: bool,
}

/// Something that should be reached: by the golden run, or, for `throughput`, here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetJudged {
    /// What it is about.
    pub name: String,
    /// What should be reached.
    pub target: f64,
    /// Whether more is worse.
    pub at_most: bool,
    /// What was; none where that is not known.
    pub found: Option<f64>,
    /// Whether it was reached; a speed that cannot be compared is not held against anybody.
    pub reached: bool,
}

/// Speeds of a step, here and in the golden run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Speed {
    /// The median time of a step here.
    pub own_seconds: f64,
    /// That of the golden run.
    pub golden_seconds: f64,
    /// Whether both are of one machine with the same number of threads; else no target is judged by them.
    pub same_machine: bool,
}

impl Speed {
    /// How many times as fast it is here.
    pub fn ratio(&self) -> f64 {
        self.golden_seconds / self.own_seconds
    }
}

/// The mean of every metric that both sides have.
pub(crate) fn metrics(curves: &[Curve]) -> Vec<MetricJudged> {
    let Some(first) = curves.first() else { return Vec::new() };
    let mean = |name: &str, of: fn(&Curve) -> &BTreeMap<String, f64>| -> Option<f64> {
        let all: Option<Vec<f64>> =
            curves.iter().map(|curve| of(curve).get(name).copied()).collect();
        all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let names = first.metrics.keys();
    names
        .filter_map(|name| {
            let (own, golden) =
                (mean(name, |curve| &curve.metrics)?, mean(name, |curve| &curve.golden_metrics)?);
            let matches = (own - golden).abs() <= METRIC_POINTS;
            Some(MetricJudged { name: name.clone(), own, golden, allowed: METRIC_POINTS, matches })
        })
        .collect()
}

impl TargetJudged {
    /// Whether it is for the run here to reach it.
    pub(crate) fn is_of_run(&self) -> bool {
        self.name == THROUGHPUT
    }
}

/// Whether what should be reached is; `seconds` are those of both passes.
pub(crate) fn targets(
    wanted: &BTreeMap<String, f64>,
    curves: &[Curve],
    seconds: Option<f64>,
    speed: Option<Speed>,
) -> Vec<TargetJudged> {
    let judged = |(name, target): (&String, &f64)| {
        let at_most = matches!(name.as_str(), "final_loss" | "seconds");
        let found = match name.as_str() {
            "seconds" => seconds,
            THROUGHPUT => speed.filter(|speed| speed.same_machine).map(|speed| speed.ratio()),
            "final_loss" => final_loss(curves, |curve| &curve.golden),
            name => {
                let all: Option<Vec<f64>> =
                    curves.iter().map(|curve| curve.golden_metrics.get(name).copied()).collect();
                all.filter(|all| !all.is_empty())
                    .map(|all| all.iter().sum::<f64>() / all.len() as f64)
            }
        };
        let unknown = name == THROUGHPUT && found.is_none();
        let reached = unknown
            || found.is_some_and(|found| if at_most { found <= *target } else { found >= *target });
        TargetJudged { name: name.clone(), target: *target, at_most, found, reached }
    };
    wanted.iter().map(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(own: f64, golden: f64) -> Curve {
        let of = |value: f64| BTreeMap::from([("f1".to_owned(), value)]);
        Curve {
            seed: 0,
            loss: vec![1.0, 0.4],
            golden: vec![1.0, 0.5],
            seconds: 1.0,
            step_seconds: vec![0.5, 0.5],
            metrics: of(own),
            golden_metrics: of(golden),
        }
    }

    #[test]
    fn metrics_are_judged_by_their_means() {
        let near = metrics(&[curve(80.0, 82.0), curve(82.0, 80.6)]);
        assert!(near[0].matches && (near[0].own, near[0].golden) == (81.0, 81.3), "{near:?}");
        assert!(!metrics(&[curve(80.0, 80.6)])[0].matches);
        assert!(metrics(&[]).is_empty());
    }

    #[test]
    fn a_golden_run_may_miss_its_own_target() {
        let wanted = [("f1", 90.0), ("final_loss", 0.5), ("seconds", 10.0), ("other", 1.0)];
        let wanted = wanted.map(|(name, target)| (name.to_owned(), target)).into();
        let judged = targets(&wanted, &[curve(95.0, 85.0)], Some(9.0), None);
        let reached: Vec<(&str, bool)> =
            judged.iter().map(|each| (each.name.as_str(), each.reached)).collect();
        assert_eq!(
            reached,
            [("f1", false), ("final_loss", true), ("other", false), ("seconds", true)]
        );
    }

    #[test]
    fn speeds_are_judged_on_one_machine_only() {
        let wanted = BTreeMap::from([(THROUGHPUT.to_owned(), 0.85)]);
        let reached = |own_seconds, same_machine| {
            let speed = Speed { own_seconds, golden_seconds: 1.0, same_machine };
            targets(&wanted, &[], None, Some(speed))[0].reached
        };
        assert!(!reached(1.2, true));
        assert!(reached(1.2, false));
        assert!(reached(1.1, true));
    }
}
