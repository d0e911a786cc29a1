//! Runs and comparisons as JUnit XML: a suite per run with a case per benchmark, and a suite for a comparison with a case per
//! metric, failed where it got worse. Values are in the suite's output.

use std::fmt::Write;

use warpt_bench::record::{BenchmarkRunResult, Outcome};
use warpt_history::compare::{RecordComparison, RefusalKind};
use warpt_stats::paired::Verdict;

use crate::junit::{Case, End, Suite, document};
use crate::number::{percent, significant};
use crate::report::{NamedRun, Report, identifier, start};
use crate::text::inert;

pub(super) fn render(report: &Report) -> String {
    let mut suites: Vec<Suite> = report.runs.iter().map(run_suite).collect();
    suites.extend(report.comparison.as_ref().map(comparison_suite));
    document(&suites)
}

fn run_suite(named: &NamedRun) -> Suite {
    let run = &named.run;
    let machine = run.benchmarks.iter().find_map(|result| result.system.as_ref());
    let host = machine.and_then(|machine| machine.host.as_ref()?.hostname.clone());
    let mut output = String::new();
    for result in &run.benchmarks {
        for metric in result.metrics.iter().filter(|metric| !metric.supporting) {
            let width = metric.summary.as_ref().map(|summary| summary.relative_half_width);
            let width = width.map_or_else(String::new, |width| format!(" ± {}", percent(width)));
            let mark = if metric.verified == Some(true) { "" } else { " (unverified)" };
            writeln!(
                output,
                "{} {} {}{width}{mark}",
                identifier(result, metric),
                significant(metric.value),
                inert(&metric.unit, 40)
            )
            .expect("text grows");
        }
    }
    let metadata = run.metadata.iter().flatten();
    Suite {
        name: inert(&format!("{} {}", run.suite, named.name), 200),
        host: host.map_or("unknown".to_owned(), |host| inert(&host, 200)),
        timestamp: start(run)
            .map_or_else(epoch, |time| time.strftime("%Y-%m-%dT%H:%M:%S").to_string()),
        properties: metadata.map(|(key, value)| (inert(key, 100), inert(value, 300))).collect(),
        cases: run.benchmarks.iter().map(benchmark_case).collect(),
        output,
    }
}

fn epoch() -> String {
    "1970-01-01T00:00:00".to_owned()
}

fn benchmark_case(result: &BenchmarkRunResult) -> Case {
    let reason = || inert(result.error_message.as_deref().unwrap_or("no reason given"), 2000);
    let seconds = result.end_time.duration_since(result.start_time).as_secs_f64();
    Case {
        class: inert(&result.spec.id.suite, 200),
        name: inert(&result.spec.id.name, 300),
        seconds: seconds.max(0.0),
        end: match result.outcome {
            Outcome::Passed => End::Passed,
            Outcome::Failed => End::Failed(reason()),
            Outcome::Skipped => End::Skipped(reason()),
        },
    }
}

fn comparison_suite(comparison: &RecordComparison) -> Suite {
    let mut cases = Vec::new();
    for change in comparison.changes.iter().filter(|change| !change.supporting) {
        let mut said = change.reasons.clone();
        said.extend(change.explanations.iter().map(|text| format!("could explain it: {text}")));
        let said = said.iter().map(|text| inert(text, 400)).collect::<Vec<_>>().join("\n");
        cases.push(Case {
            class: inert(&change.benchmark, 300),
            name: inert(&change.metric, 500),
            seconds: 0.0,
            end: match change.verdict {
                Verdict::Worse => End::Failed(said),
                Verdict::Inconclusive => End::Skipped(said),
                Verdict::Better | Verdict::Same => End::Passed,
            },
        });
    }
    for refusal in comparison.refusals.iter().filter(|refusal| !refusal.supporting) {
        let reason = inert(&refusal.reason, 1000);
        cases.push(Case {
            class: inert(&refusal.benchmark, 300),
            name: inert(refusal.metric.as_deref().unwrap_or("all metrics"), 500),
            seconds: 0.0,
            end: if refusal.kind == RefusalKind::Broken {
                End::Failed(reason)
            } else {
                End::Skipped(format!("not compared: {reason}"))
            },
        });
    }
    Suite {
        name: format!("compare {}", inert(&comparison.a.name, 150)),
        host: inert(comparison.b.hostname.as_deref().unwrap_or("unknown"), 200),
        timestamp: comparison
            .b
            .start_time
            .map_or_else(epoch, |time| time.strftime("%Y-%m-%dT%H:%M:%S").to_string()),
        properties: Vec::new(),
        cases,
        output: inert(&comparison.caveat, 500),
    }
}
