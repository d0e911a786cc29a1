//! The change of one metric between two runs, and what may be said about it.
//!
//! The interval covers the noise within each run: on the scale of logarithms, each end lies as far from the ratio of medians
//! as the root of the summed squares of the two runs' own distances (Zou and Donner's recovery of variances). The
//! verdict also demands room for the noise *between* runs, which no single run can know:
//!
//! - better / worse: the interval excludes no change, the change exceeds `threshold`, the larger of the two runs' stated
//!   smallest detectable changes plus the floor, and no other program used much of the machine meanwhile;
//! - same: the interval lies within [`SAME_BAND`], or within the metric's measured noise, on both sides;
//! - inconclusive: anything else.
//!
//! Twice the share of stolen time is added to the floor: what a hypervisor takes from one run it need not take from the
//! other, and a program that waits for itself loses more than what was taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpt_bench::record::{BenchmarkMetric, SampleData};
use warpt_stats::Summary;
use warpt_stats::distribution::student_quantile;
use warpt_stats::paired::Verdict;

use super::align::Pair;
use super::environment::{self, Difference};
use super::{CompareOptions, SAME_BAND};

/// One metric in both records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The benchmark, as `suite/name`.
    pub benchmark: String,
    /// The metric's identifier.
    pub metric: String,
    /// Its name.
    pub name: String,
    /// Its tags, as `key=value`.
    pub tags: Vec<String>,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub higher_is_better: bool,
    /// It explains another metric and is not counted.
    pub supporting: bool,
    /// The value in A.
    pub a: f64,
    /// The value in B.
    pub b: f64,
    /// How much better B is: B over A for rates, A over B for times.
    pub ratio: f64,
    /// Lower end of the ratio's 95% interval, noise within the runs only; absent when a run gives no interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What separate runs of the same thing are taken to differ by.
    pub floor: f64,
    /// The relative change from which a difference is called; absent when no finite one would be.
    pub threshold: Option<f64>,
    /// What is said about B.
    pub verdict: Verdict,
    /// The verdict in words, and what limits it.
    pub reasons: Vec<String>,
    /// Differences between the two machines and moments that could explain the change.
    pub explanations: Vec<String>,
}

impl Change {
    /// The relative change of the value itself, as measured: +0.03 is 3% more.
    pub fn relative(&self) -> f64 {
        self.b / self.a - 1.0
    }

    /// The relative change from which this one would have been called: as many per cent down are fewer than up, because
    /// a halving is as large as a doubling.
    pub fn needed(&self) -> Option<f64> {
        let up = self.threshold?;
        Some(if self.b < self.a { 1.0 / (1.0 + up) - 1.0 } else { up })
    }

    /// The interval of [`Self::relative`], lower end first.
    pub fn relative_interval(&self) -> Option<(f64, f64)> {
        let (low, high) = (self.low?, self.high?);
        Some(if self.higher_is_better {
            (low - 1.0, high - 1.0)
        } else {
            (1.0 / high - 1.0, 1.0 / low - 1.0)
        })
    }
}

/// Judges one pair.
pub(super) fn judge(pair: &Pair<'_>, options: &CompareOptions, all: &[Difference]) -> Change {
    let ((result_a, a), (result_b, b)) = (pair.a, pair.b);
    let ratio = if a.higher_is_better { b.value / a.value } else { a.value / b.value };
    let (of_a, of_b) = (Spread::of(a), Spread::of(b));
    let interval = of_a.as_ref().zip(of_b.as_ref()).and_then(|(of_a, of_b)| {
        let (better, base) = if a.higher_is_better { (of_b, of_a) } else { (of_a, of_b) };
        better.over(base, ratio)
    });
    let measured = options.noise.of(&pair.id);
    let stolen = environment::stolen_share(result_a).max(environment::stolen_share(result_b));
    let floor = measured.unwrap_or(options.floor) + 2.0 * stolen;
    let band = measured.map_or(options.floor.min(SAME_BAND), |measured| measured.max(0.02));
    let detectable = of_a
        .as_ref()
        .zip(of_b.as_ref())
        .map(|(of_a, of_b)| of_a.detectable.max(of_b.detectable))
        .filter(|detectable| detectable.is_finite());
    let threshold = detectable.map(|detectable| detectable + floor);
    let (mut verdict, mut reasons) = verdict(ratio, interval, band, threshold);
    let disturbance = environment::disturbance(result_a, result_b);
    if let (true, Some(disturbance)) = (verdict.is_difference(), disturbance) {
        verdict = Verdict::Inconclusive;
        reasons = vec![format!("{disturbance}: whatever differs may be due to that")];
    }
    match measured {
        Some(measured) => {
            reasons.push(format!("the measured noise of this metric is {:.1}%", measured * 100.0));
        }
        None if verdict == Verdict::Inconclusive && options.noise.is_empty() => reasons.push(
            "the noise between runs is not known (--history), so much is taken for it".into(),
        ),
        None => {}
    }
    let explanations = if verdict == Verdict::Same {
        Vec::new()
    } else {
        let mut explanations = environment::relevant(all, &result_b.spec.components);
        explanations.extend(environment::conditions(result_a, result_b));
        explanations
    };
    Change {
        benchmark: result_a.spec.id.to_string(),
        metric: pair.id.clone(),
        name: a.name.clone(),
        tags: a.tags.iter().flatten().map(|(key, value)| format!("{key}={value}")).collect(),
        unit: a.unit.clone(),
        higher_is_better: a.higher_is_better,
        supporting: a.supporting || b.supporting,
        a: a.value,
        b: b.value,
        ratio,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        floor,
        threshold,
        verdict,
        reasons,
        explanations,
    }
}

/// How far a run's median may be off, on the scale of logarithms, at 95% confidence.
struct Spread {
    below: f64,
    above: f64,
    detectable: f64,
}

impl Spread {
    /// From the summary, or from the samples where no summary was kept.
    fn of(metric: &BenchmarkMetric) -> Option<Self> {
        let computed;
        let summary = match (&metric.summary, &metric.samples) {
            (Some(summary), _) => summary,
            (None, Some(SampleData::Inline { values })) => {
                computed = Summary::of(values)?;
                &computed
            }
            _ => return None,
        };
        let interval = &summary.interval;
        let median = summary.median;
        let usable = interval.low > 0.0 && interval.low <= median && median <= interval.high;
        if !usable || !interval.high.is_finite() || interval.confidence <= 0.0 {
            return None;
        }
        // Few samples state a lower confidence; stretched to 95%, as the standard error scales.
        let freedom = (summary.effective_count - 1.0).max(1.0);
        let reached = student_quantile(f64::midpoint(1.0, interval.confidence.min(0.99)), freedom);
        let stretch = (student_quantile(0.975, freedom) / reached).max(1.0);
        Some(Self {
            below: (median / interval.low).ln() * stretch,
            above: (interval.high / median).ln() * stretch,
            detectable: summary.minimum_detectable_effect,
        })
    }

    /// The interval of `ratio`, this over `base`.
    fn over(&self, base: &Self, ratio: f64) -> Option<(f64, f64)> {
        let low = ratio * (-self.below.hypot(base.above)).exp();
        let high = ratio * self.above.hypot(base.below).exp();
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }
}

fn verdict(
    ratio: f64,
    interval: Option<(f64, f64)>,
    band: f64,
    threshold: Option<f64>,
) -> (Verdict, Vec<String>) {
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let (Some((low, high)), Some(threshold)) = (interval, threshold) else {
        let reason = "too few samples for an interval: there is no telling noise from change";
        return (Verdict::Inconclusive, vec![reason.to_owned()]);
    };
    // As far up as down: a halving is as large a change as a doubling.
    let size = ratio.ln().abs().exp_m1();
    let excluded = low > 1.0 || high < 1.0;
    if excluded && size >= threshold {
        let verdict = if ratio > 1.0 { Verdict::Better } else { Verdict::Worse };
        let reason = format!(
            "{verdict} by {}, beyond what these runs can tell from noise ({})",
            percent(size),
            percent(threshold)
        );
        return (verdict, vec![reason]);
    }
    if low >= 1.0 / (1.0 + band) && high <= 1.0 + band {
        let reason = format!("any difference is within {}", percent(band));
        return (Verdict::Same, vec![reason]);
    }
    let reason = if excluded {
        format!(
            "{} is less than these runs can tell from the noise between runs ({})",
            percent(size),
            percent(threshold)
        )
    } else {
        format!(
            "the interval spans no change and differences above {}: more samples, or `warpt ab`",
            percent(band)
        )
    };
    (Verdict::Inconclusive, vec![reason])
}
