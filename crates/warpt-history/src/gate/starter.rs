//! A rules file to start from, made from a record: one rule per benchmark with the limit its own noise allows, comments that say
//! what can be changed, a catch-all last.

use std::fmt::Write as _;

use warpt_bench::{BenchmarkSuiteRun, Outcome};

/// The limit of a benchmark whose noise would allow less.
const USUAL_LIMIT: f64 = 0.05;

/// A benchmark that can only see more than this is not worth guarding as it was measured.
const WIDEST: f64 = 0.25;

/// The text of the file.
#[must_use]
pub fn starter(run: &BenchmarkSuiteRun) -> String {
    let mut text = String::from(
        "# What `warpt gate` holds a change to. Paths, names and limits are yours to edit; see docs/gate.md.\n\
         version = 1\n\
         \n\
         # The share of the declared regressions that may be false.\n\
         discovery_rate = 0.05\n\
         # Seconds a suspicious metric may be measured again for.\n\
         remeasure_seconds = 60\n\
         \n\
         # The first rule that matches a metric decides. `benchmark` is over SUITE/NAME, `metric` over its name with or\n\
         # without tags; `*` and `?` are wildcards. A limit is `relative` (0.05: five per cent worse), or `absolute` with\n\
         # its `unit`; `ignore = true` judges nothing. Which direction is worse, the metric knows.\n",
    );
    let passed = run.benchmarks.iter().filter(|result| result.outcome == Outcome::Passed);
    for result in passed {
        let detectable = result
            .metrics
            .iter()
            .filter(|metric| !metric.supporting)
            .filter_map(|metric| metric.summary.as_ref())
            .map(|summary| summary.minimum_detectable_effect)
            .fold(0.0f64, f64::max);
        let name = quoted(&result.spec.id.to_string());
        let _ = write!(text, "\n[[rule]]\nbenchmark = {name}\n");
        if detectable.is_nan() || detectable > WIDEST {
            let percent = 100.0 * detectable;
            let _ = writeln!(
                text,
                "# In this record it could have seen {percent:.0}% at best: measure longer or on a quieter machine first.\n\
                 ignore = true"
            );
            continue;
        }
        // Twice what the record could have seen leaves room for how runs differ.
        let limit = ((2.0 * detectable).max(USUAL_LIMIT) * 100.0).ceil() / 100.0;
        if limit > USUAL_LIMIT {
            let percent = 100.0 * detectable;
            let _ = writeln!(text, "# In this record it could have seen {percent:.1}% at best.");
        }
        let _ = writeln!(text, "relative = {}", limit.min(10.0));
    }
    text.push_str("\n# Everything else.\n[[rule]]\nbenchmark = \"*\"\nrelative = 0.1\n");
    text.push_str(
        "\n# A limit that is wider for a while needs a last day and a reason. Past its day it fails the gate.\n\
         # [[exception]]\n# benchmark = \"micro/mem_bandwidth\"\n# metric = \"*\"\n# relative = 0.2\n\
         # expires = 2030-12-31\n# reason = \"why, and what will end it\"\n",
    );
    text
}

/// A name as a TOML string.
fn quoted(name: &str) -> String {
    toml::Value::String(name.to_owned()).to_string()
}
