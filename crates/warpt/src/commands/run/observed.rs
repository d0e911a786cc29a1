//! What the observable tier saw: kernels of the same ops together, with the time of their phases, how even threads were at work,
//! what was moved and the range of what was written; and where the first value that is no number comes from.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value as Json, json};
use warpforge_engine::StepReport;
use warpforge_engine::observe::{Observed, Phase, Range};
use warpt_report::number::{bytes, seconds};
use warpt_report::table::TextTable;
use warpt_report::text::{clean, wrap};

use super::profile::kinds::{kinds, ops};

/// Rows that are shown.
const SHOWN: usize = 24;

/// The kernels of one run.
pub(super) struct Seen {
    pub(super) steps: Vec<StepReport>,
}

impl Seen {
    /// A table of at most `width` columns and what there is to say beside it.
    pub(super) fn page(&self, width: usize) -> String {
        let headings = ["time", "count", "moved", "pack", "even", "least", "most", "by", "ops"];
        let mut table = TextTable::new(&headings).right(&[0, 1, 2, 3, 4, 5, 6]);
        let kinds = kinds(&self.steps);
        for kind in kinds.iter().take(SHOWN) {
            let seen = together(kind.steps.iter().filter_map(|step| step.observed.as_ref()));
            let range = range(&seen);
            let number = |value: Option<f32>| value.map_or("-".to_owned(), short);
            table.row(&[
                seconds(kind.seconds),
                kind.count.to_string(),
                bytes(kind.bytes),
                packing(&seen).map_or("-".to_owned(), percent),
                seen.balance().map_or("-".to_owned(), percent),
                number(range.map(|range| range.least)),
                number(range.map(|range| range.greatest)),
                kind.backend.to_owned(),
                kind.ops.clone(),
            ]);
        }
        let mut text = table.render(width);
        if kinds.len() > SHOWN {
            let _ = writeln!(text, "... and {} further kinds of kernels", kinds.len() - SHOWN);
        }
        for line in [self.total(), self.finite()] {
            let _ = write!(text, "\n{}", wrap(&line, width, "  ").trim_end());
        }
        text.push('\n');
        text
    }

    fn total(&self) -> String {
        let seen = together(self.steps.iter().filter_map(|step| step.observed.as_ref()));
        let time: Duration = self.steps.iter().map(|step| step.time).sum();
        let moved = self.steps.iter().map(|step| step.cost.bytes).sum();
        let work: f64 = seen.busy.iter().map(Duration::as_secs_f64).sum();
        let mut text = format!(
            "{} kernels in {}, {} moved",
            self.steps.len(),
            seconds(time.as_secs_f64()),
            bytes(moved)
        );
        for (phase, time) in Phase::ALL.iter().zip(seen.phases) {
            let share = time.as_secs_f64() / work.max(1e-12);
            let _ = write!(text, ", {} {}", phase.name(), percent(share));
        }
        let threads = seen.busy.len();
        let _ =
            write!(text, " of the work of {threads} thread{}", if threads == 1 { "" } else { "s" });
        if let Some(balance) = seen.balance() {
            let _ = write!(text, ", which is {} even", percent(balance));
        }
        text
    }

    fn finite(&self) -> String {
        let strange = |step: &&StepReport| {
            let outputs = step.observed.iter().flat_map(|seen| &seen.outputs);
            outputs.flatten().any(|range| !range.is_finite())
        };
        let Some(first) = self.steps.iter().position(|step| strange(&step)) else {
            return "every value that was looked at is finite".to_owned();
        };
        let step = &self.steps[first];
        let outputs = step.observed.iter().flat_map(|seen| &seen.outputs).flatten();
        let (none, infinite) = outputs
            .fold((0, 0), |(none, infinite), range| (none + range.none, infinite + range.infinite));
        let place = step.place.as_deref().map(|place| format!(", from {}", clean(place)));
        format!(
            "the first values that are not finite: {none} NaN and {infinite} infinite, written by kernel {first} ({}){}; {} of {} \
             kernels wrote such",
            ops(step),
            place.unwrap_or_default(),
            self.steps.iter().filter(strange).count(),
            self.steps.len()
        )
    }

    /// Each kernel, for programs.
    pub(super) fn json(&self) -> Json {
        let finite = |value: f32| value.is_finite().then_some(value);
        let each = self.steps.iter().enumerate().map(|(number, step)| {
            let seen = step.observed.clone().unwrap_or_default();
            let phases = Phase::ALL.iter().zip(seen.phases);
            let phases: serde_json::Map<String, Json> = phases
                .filter(|(_, time)| !time.is_zero())
                .map(|(phase, time)| (phase.name().to_owned(), json!(time.as_secs_f64())))
                .collect();
            let outputs: Vec<Json> = seen
                .outputs
                .iter()
                .map(|range| match range {
                    None => Json::Null,
                    Some(Range { least, greatest, none, infinite }) => json!({
                        "min": finite(*least),
                        "max": finite(*greatest),
                        "nan_count": none,
                        "infinite_count": infinite,
                    }),
                })
                .collect();
            json!({
                "kernel": number,
                "by": step.backend,
                "ops": step.ops,
                "place": step.place,
                "seconds": step.time.as_secs_f64(),
                "bytes": step.cost.bytes,
                "flops": step.cost.flops,
                "phase_seconds": phases,
                "thread_seconds": seen.busy.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
                "outputs": outputs,
            })
        });
        Json::Array(each.collect())
    }
}

/// What was seen of several kernels.
fn together<'a>(all: impl Iterator<Item = &'a Observed>) -> Observed {
    let mut sum = Observed::default();
    for seen in all {
        sum.busy.resize(sum.busy.len().max(seen.busy.len()), Duration::ZERO);
        sum.busy.iter_mut().zip(&seen.busy).for_each(|(sum, time)| *sum += *time);
        sum.phases.iter_mut().zip(seen.phases).for_each(|(sum, time)| *sum += time);
        sum.outputs.extend(&seen.outputs);
    }
    sum
}

/// The range of all outputs that have any finite value.
fn range(seen: &Observed) -> Option<Range> {
    let outputs = seen.outputs.iter().flatten().filter(|range| range.least <= range.greatest);
    outputs.copied().reduce(|a, b| Range {
        least: a.least.min(b.least),
        greatest: a.greatest.max(b.greatest),
        none: a.none + b.none,
        infinite: a.infinite + b.infinite,
    })
}

/// The share of packing, where a kernel has phases.
fn packing(seen: &Observed) -> Option<f64> {
    let all: f64 = seen.phases.iter().map(Duration::as_secs_f64).sum();
    (all > 0.0).then(|| seen.phases[Phase::Packing as usize].as_secs_f64() / all)
}

/// A number in at most seven characters.
fn short(number: f32) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if (1e-2..1e4).contains(&size) => {
            format!("{number:.*}", if size < 10.0 { 2 } else { 0 })
        }
        _ => format!("{number:.0e}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}
