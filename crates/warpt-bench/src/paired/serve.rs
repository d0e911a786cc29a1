//! The answering side of the line protocol (see [`line_process`](super::line_process)) for one case of a benchmark, so
//! that it can be compared with another program's process.

use std::io::{BufRead, Write};

use crate::benchmark::{Case, CaseError, MetricSource, MetricSpec};
use crate::clock::Clock;
use crate::error::BenchError;
use crate::runner::calibrate;
use crate::sampler::{Overhead, Sampler};

/// A request is one word; anything longer is not from a driver.
const MAX_REQUEST_BYTES: u64 = 4096;

/// Serves samples of one metric of the case, its first unless named, until the input ends. The cost of a sample is the metric's value where
/// lower is better, and `1e9 / value` where higher is better: nanoseconds per unit of work, whatever the batch.
/// The batch is calibrated once, before `ready`.
pub fn serve_case(
    case: &mut dyn Case,
    metric: Option<&str>,
    clock: &dyn Clock,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<(), BenchError> {
    let label = case.label();
    let metric = match choose(case, metric) {
        Ok(metric) => metric,
        Err(message) => return answer(output, &label, &format!("error {message}")),
    };
    let overhead = Overhead::measure(clock);
    let prepared = case.enter().and_then(|()| calibrate(case, clock, overhead));
    let iterations = match prepared {
        Ok(iterations) => iterations,
        Err(error) => {
            return answer(output, &label, &format!("error {}", one_line(&error.to_string())));
        }
    };
    answer(output, &label, "ready")?;
    loop {
        let mut line = String::new();
        let read = std::io::Read::take(&mut *input, MAX_REQUEST_BYTES).read_line(&mut line);
        match read {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(fail(&label, &error.to_string())),
        }
        let reply = match line.trim() {
            "sample" => match cost(case, metric, clock, overhead, iterations) {
                Ok(cost) => format!("{cost:.9e}"),
                Err(error) => format!("error {}", one_line(&error.to_string())),
            },
            "verify" => match case.verify().iter().find(|check| !check.passed) {
                None => "ok".to_owned(),
                Some(check) => {
                    format!("error check {} failed: {}", check.name, one_line(&check.detail))
                }
            },
            "metric" => match case.metrics().get(metric) {
                Some(spec) if spec.higher_is_better => format!("rate {}", spec.unit),
                Some(spec) => format!("cost {}", spec.unit),
                None => "error no metric declared".to_owned(),
            },
            other => {
                format!("error unknown request {:?}", other.chars().take(40).collect::<String>())
            }
        };
        answer(output, &label, &reply)?;
    }
}

/// The place of the wanted metric, by name or by name and tags.
fn choose(case: &dyn Case, wanted: Option<&str>) -> Result<usize, String> {
    let Some(wanted) = wanted else { return Ok(0) };
    let names: Vec<String> = case.metrics().iter().map(MetricSpec::label).collect();
    let fits = |name: &&String| **name == wanted || name.split(' ').next() == Some(wanted);
    match names.iter().filter(fits).count() {
        1 => Ok(names.iter().position(|name| fits(&name)).unwrap_or(0)),
        0 => Err(format!("no metric {wanted:?}; the metrics are: {}", names.join("; "))),
        _ => Err(format!("several metrics are called {wanted:?}: {}", names.join("; "))),
    }
}

fn cost(
    case: &mut dyn Case,
    metric: usize,
    clock: &dyn Clock,
    overhead: Overhead,
    iterations: u64,
) -> Result<f64, CaseError> {
    let mut sampler = Sampler::new(clock, overhead, iterations);
    case.iterate(&mut sampler)?;
    let metrics = case.metrics();
    let metric =
        metrics.get(metric).ok_or_else(|| CaseError::Failed("no metric declared".into()))?;
    let cost = match metric.source {
        MetricSource::Rate { amount } => sampler.iteration_ns().map(|ns| ns / amount),
        MetricSource::Time { scale } => sampler.iteration_ns().map(|ns| ns * 1e-9 * scale),
        MetricSource::Observed if metric.higher_is_better => {
            sampler.observed(metric.name).map(|rate| 1e9 / rate)
        }
        MetricSource::Observed => sampler.observed(metric.name),
    };
    let failed =
        || CaseError::Failed(format!("the case did not measure its metric {}", metric.name));
    cost.filter(|cost| cost.is_finite() && *cost > 0.0).ok_or_else(failed)
}

fn answer(output: &mut dyn Write, label: &str, line: &str) -> Result<(), BenchError> {
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| fail(label, &error.to_string()))
}

fn fail(label: &str, detail: &str) -> BenchError {
    BenchError::Child { program: label.to_owned(), detail: format!("serving samples: {detail}") }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::record::Check;

    #[derive(Clone, Default)]
    struct FakeClock(Rc<Cell<u64>>);

    impl Clock for FakeClock {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }
    }

    struct Fake {
        metric: MetricSpec,
        clock: FakeClock,
        right: bool,
        enters: bool,
    }

    impl Case for Fake {
        fn label(&self) -> String {
            "fake".into()
        }

        fn metrics(&self) -> Vec<MetricSpec> {
            vec![self.metric.clone()]
        }

        fn enter(&mut self) -> Result<(), CaseError> {
            if self.enters { Ok(()) } else { Err(CaseError::Skipped("no\ntiles".into())) }
        }

        fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
            let clock = self.clock.clone();
            sampler.time(|| clock.0.set(clock.0.get() + 1000));
            sampler.observe("requests", 4.0);
            Ok(())
        }

        fn verify(&mut self) -> Vec<Check> {
            vec![Check::new("sum", self.right, "expected 2, found 3")]
        }
    }

    fn conversation(metric: MetricSpec, right: bool, enters: bool, requests: &str) -> Vec<String> {
        let clock = FakeClock::default();
        let mut case = Fake { metric, clock: clock.clone(), right, enters };
        let mut output = Vec::new();
        serve_case(&mut case, None, &clock, &mut requests.as_bytes(), &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn costs_are_nanoseconds_per_unit_of_work_whatever_the_batch() {
        let rate = MetricSpec::rate("bandwidth", "GB/s", 4.0);
        assert_eq!(
            conversation(rate, true, true, "sample\nsample\n"),
            ["ready", "2.500000000e2", "2.500000000e2"]
        );
        let time = MetricSpec::time("latency", "us", 1e6);
        assert_eq!(conversation(time, true, true, "sample\n"), ["ready", "1.000000000e0"]);
        let observed = MetricSpec::observed("requests", "1/s", true);
        assert_eq!(conversation(observed, true, true, "sample\n"), ["ready", "2.500000000e8"]);
        let absent = MetricSpec::observed("nothing", "1/s", true);
        assert!(conversation(absent, true, true, "sample\n")[1].starts_with("error "));
    }

    #[test]
    fn a_metric_is_chosen_by_its_name() {
        let metric = MetricSpec::rate("bandwidth", "GB/s", 4.0).tag("threads", 2);
        let case = Fake { metric, clock: FakeClock::default(), right: true, enters: true };
        assert_eq!(choose(&case, None), Ok(0));
        assert_eq!(choose(&case, Some("bandwidth")), Ok(0));
        assert_eq!(choose(&case, Some("bandwidth threads=2")), Ok(0));
        assert!(choose(&case, Some("latency")).unwrap_err().contains("bandwidth threads=2"));
    }

    #[test]
    fn checks_unknown_requests_and_failures_are_answered() {
        let rate = || MetricSpec::rate("bandwidth", "GB/s", 4.0);
        let answers = conversation(rate(), true, true, "verify\nmetric\nhurry\n");
        assert_eq!(answers, ["ready", "ok", "rate GB/s", "error unknown request \"hurry\""]);
        let answers = conversation(rate(), false, true, "verify\n");
        assert_eq!(answers[1], "error check sum failed: expected 2, found 3");
        assert_eq!(conversation(rate(), true, false, "sample\n"), ["error no tiles"]);
    }
}
