//! One case, from first call to last sample: find the batch size, warm up until steady, sample until the interval
//! is narrow enough or the time is used.

use warpt_stats::steady::{self, SteadyConfig, SteadyState};
use warpt_stats::stopping;

use super::progress::Phase;
use crate::benchmark::{Case, CaseError, MetricSource, MetricSpec};
use crate::clock::Clock;
use crate::context::Cancel;
use crate::sampler::{Overhead, Sampler};

/// Warm-up uses at most this share of the sampling time, unless the burn-in floor is longer.
const WARM_UP_SHARE: f64 = 0.5;
/// Samples kept at most; more would not change any summary.
const MAX_SAMPLES: usize = 10_000;
/// Progress is reported this often.
const REPORT_NS: u64 = 50_000_000;
/// A reading of this length is not an accident of the machine, and a second one would cost too much.
const CERTAINLY_LONG_NS: u64 = 250_000_000;

/// How long and how precisely to measure.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Time for the samples that count.
    pub sampling_ns: u64,
    /// Warm-up lasts at least this long.
    pub burnin_ns: u64,
    /// The interval's half width, relative to the median, at which sampling stops early.
    pub target_precision: f64,
}

/// The samples of a case.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Per metric, its description and its samples in order.
    pub metrics: Vec<(MetricSpec, Vec<f64>)>,
    /// Iterations per sample.
    pub iterations: u64,
    /// Samples taken during warm-up, not kept.
    pub warm_up_samples: usize,
    /// Whether warm-up ended because the values were steady.
    pub steady: bool,
}

/// Measures one case.
pub fn measure(
    case: &mut dyn Case,
    settings: &Settings,
    clock: &dyn Clock,
    overhead: Overhead,
    cancel: &Cancel,
    report: &mut dyn FnMut(Phase, f64),
) -> Result<Series, CaseError> {
    report(Phase::Prepare, 0.0);
    case.enter()?;
    let specs = case.metrics();
    let primary =
        specs.first().cloned().ok_or_else(|| CaseError::Failed("no metric declared".into()))?;
    let iterations = calibrate(case, clock, overhead)?;
    let mut series = Series {
        metrics: specs.into_iter().map(|spec| (spec, Vec::new())).collect(),
        iterations,
        ..Series::default()
    };
    let start = clock.now_ns();
    let warm_up_ns = settings.burnin_ns.max((settings.sampling_ns as f64 * WARM_UP_SHARE) as u64);
    let mut detector = SteadyState::new(SteadyConfig::default());
    let mut reported = 0;
    loop {
        let used = clock.now_ns() - start;
        if used >= reported {
            report(Phase::WarmUp, 0.0);
            reported = used + REPORT_NS;
        }
        if cancel.is_cancelled() {
            return Err(CaseError::Failed("interrupted".into()));
        }
        let mut sampler = Sampler::new(clock, overhead, iterations);
        case.iterate(&mut sampler)?;
        let first = value(&sampler, &primary).unwrap_or(f64::NAN);
        series.warm_up_samples += 1;
        let used = clock.now_ns() - start;
        series.steady |= detector.push(first) == steady::Phase::Steady;
        let floor_reached = used >= settings.burnin_ns;
        if floor_reached && (series.steady || used >= warm_up_ns) {
            break;
        }
    }

    let minimum = case.minimum_samples().max(1);
    let start = clock.now_ns();
    let (mut reported, mut next_look) = (0, minimum);
    loop {
        if cancel.is_cancelled() {
            return Err(CaseError::Failed("interrupted".into()));
        }
        let mut sampler = Sampler::new(clock, overhead, iterations);
        case.iterate(&mut sampler)?;
        for (spec, samples) in &mut series.metrics {
            let sample = value(&sampler, spec).ok_or_else(|| {
                CaseError::Failed(format!("the case did not measure its metric {}", spec.name))
            })?;
            samples.push(sample);
        }
        let count = series.metrics[0].1.len();
        let used = clock.now_ns() - start;
        if used >= reported {
            report(Phase::Sampling, (used as f64 / settings.sampling_ns.max(1) as f64).min(1.0));
            reported = used + REPORT_NS;
        }
        if count < minimum {
            continue;
        }
        if used >= settings.sampling_ns || count >= MAX_SAMPLES {
            break;
        }
        if count >= next_look {
            // Looking costs a sort; looking at every tenth more keeps the total near linear.
            next_look = count + (count / 10).max(1);
            if stopping::enough(&series.metrics[0].1, settings.target_precision, minimum.max(20)) {
                break;
            }
        }
    }
    report(Phase::Verify, 1.0);
    Ok(series)
}

/// How many iterations make a sample of about [`Case::sample_ns`].
pub fn calibrate(
    case: &mut dyn Case,
    clock: &dyn Clock,
    overhead: Overhead,
) -> Result<u64, CaseError> {
    let target = case.sample_ns().max(1);
    let mut iterations: u64 = 1;
    let mut read = |iterations| -> Result<u64, CaseError> {
        let start = clock.now_ns();
        case.iterate(&mut Sampler::new(clock, overhead, iterations))?;
        Ok((clock.now_ns() - start).max(1))
    };
    loop {
        let mut wall = read(iterations)?;
        if (target..CERTAINLY_LONG_NS).contains(&wall) {
            // One late wake-up or page fault makes a short batch look long; it rarely happens twice.
            wall = wall.min(read(iterations)?);
        }
        if wall >= target || iterations >= 1 << 40 {
            return Ok(iterations);
        }
        // At most tenfold a step, so that a first call slowed by page faults cannot overshoot by much.
        let factor = (target as f64 / wall as f64 * 1.1).clamp(1.5, 10.0);
        iterations = ((iterations as f64 * factor).ceil() as u64).max(iterations + 1);
    }
}

/// The value of a metric in a sample; a time below zero after subtraction is kept, as it is an honest reading of
/// nothing, but a rate needs a positive time.
pub(crate) fn value(sampler: &Sampler<'_>, spec: &MetricSpec) -> Option<f64> {
    match spec.source {
        MetricSource::Rate { amount } => {
            sampler.iteration_ns().filter(|ns| *ns > 0.0).map(|ns| amount * 1e9 / ns)
        }
        MetricSource::Time { scale } => sampler.iteration_ns().map(|ns| ns * 1e-9 * scale),
        MetricSource::Observed => sampler.observed(spec.name),
    }
}
