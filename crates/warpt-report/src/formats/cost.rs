//! Metrics as times, for formats that know nothing else: times in seconds, rates as seconds for one of what they count.
//! Lower is better for each of them, so that another tool's verdict has the right direction. Anything else (a size, a
//! share) has no time and is left out of such formats.

use warpt_bench::record::BenchmarkMetric;

/// How a metric becomes seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cost {
    /// Its values are times; seconds per unit.
    Time(f64),
    /// Its values are rates; the seconds one unit stands for.
    Rate(f64),
}

impl Cost {
    pub(super) fn of(metric: &BenchmarkMetric) -> Option<Self> {
        if let Some(seconds) = seconds(&metric.unit) {
            return (!metric.higher_is_better).then_some(Self::Time(seconds));
        }
        let per = metric.unit.rsplit_once('/').map(|(_, per)| per);
        let per = per.or_else(|| metric.unit.ends_with("Hz").then_some("s"))?;
        metric.higher_is_better.then(|| seconds(per).map(Self::Rate)).flatten()
    }

    /// A value in seconds; nothing where that is no number.
    pub(super) fn seconds(self, value: f64) -> Option<f64> {
        let seconds = match self {
            Self::Time(unit) => value * unit,
            Self::Rate(unit) => unit / value,
        };
        (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
    }

    /// What the seconds are, for names and labels.
    pub(super) fn describe(self, unit: &str) -> String {
        match self {
            Self::Time(_) => format!("measured in {unit}"),
            Self::Rate(_) => format!("measured in {unit}; written as the time for one"),
        }
    }
}

fn seconds(unit: &str) -> Option<f64> {
    match unit {
        "s" => Some(1.0),
        "ms" => Some(1e-3),
        "µs" | "μs" | "us" => Some(1e-6),
        "ns" => Some(1e-9),
        "ps" => Some(1e-12),
        "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(unit: &str, higher_is_better: bool) -> Option<Cost> {
        let text = format!(
            r#"{{"name": "m", "value": 1.0, "unit": "{unit}", "higher_is_better": {higher_is_better}}}"#
        );
        Cost::of(&serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn times_and_rates_become_seconds_and_nothing_else_does() {
        assert_eq!(cost("ms", false).unwrap().seconds(20.0), Some(0.02));
        assert_eq!(cost("GFLOP/s", true).unwrap().seconds(4.0), Some(0.25));
        assert_eq!(cost("1/s", true).unwrap().seconds(0.0), None);
        assert_eq!((cost("KiB", false), cost("s", true), cost("GB/s", false)), (None, None, None));
    }
}
