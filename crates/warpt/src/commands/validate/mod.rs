//! `warpt validate`: a model judged by a golden bundle, run here or from saved results.

mod divergence;
mod free_run;
mod junit;

use std::path::Path;

use anyhow::{Context, Result, bail};
use warpforge_engine::has_bf16_products;
use warpforge_engine::pool::allowed_cpus;
use warpforge_golden::Bundle;
use warpforge_validate::{
    Judged, Precision, Runner, Saved, Summary, Tier, Tolerances, ValidateError, Validation,
    compare, precision_of, validate,
};
use warpt_report::number::{percent, seconds};
use warpt_report::table::TextTable;
use warpt_report::text::clean;

use self::divergence::Found;
use super::run::free_memory;
use crate::arguments::golden::{
    JudgementArguments, ValidateArguments, ValidateCommand, ValidateCompareArguments,
};
use crate::arguments::run;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;

/// Mismatches that are shown one by one.
const SHOWN: usize = 10;

/// What runs the programs, for records.
const PRODUCER: &str = concat!("warpt ", env!("CARGO_PKG_VERSION"));

/// Runs and judges, or judges.
pub fn run(arguments: &ValidateArguments, output: &mut Output) -> Result<Exit> {
    match (&arguments.command, &arguments.bundle) {
        (Some(ValidateCommand::Compare(compare)), _) => judge_saved(compare, output),
        (None, Some(bundle)) => run_and_judge(arguments, bundle, output),
        (None, None) => bail!("expected the directory of a golden bundle"),
    }
}

fn run_and_judge(
    arguments: &ValidateArguments,
    directory: &Path,
    output: &mut Output,
) -> Result<Exit> {
    let precision = match arguments.precision {
        run::Precision::Bf16 => Precision::Bf16,
        run::Precision::Auto if has_bf16_products() => Precision::Bf16,
        run::Precision::F32 | run::Precision::Auto => Precision::AsWritten,
    };
    let threads = arguments.threads.map_or_else(|| allowed_cpus().len().max(1), usize::from);
    let tier = match arguments.tier {
        run::Tier::Production => Tier::Production { threads },
        run::Tier::Observable => Tier::Observable { threads },
        run::Tier::Correctness if precision == Precision::Bf16 || arguments.threads.is_some() => {
            bail!("--precision bf16 and --threads need --tier production")
        }
        run::Tier::Correctness => Tier::Correctness,
    };
    let tolerances = tolerances(&arguments.judgement, precision)?;
    let bundle = Bundle::open(directory)?;
    let cancel = interrupt::install()?;
    let flag = cancel.flag();
    let mut runner = Runner::new(tier, precision)?;
    runner.memory_bytes = Some(arguments.max_memory.unwrap_or_else(free_memory));
    runner.cancel = Some(&flag);
    if arguments.free_run {
        return free_run::run(&bundle, &runner, &arguments.judgement, output);
    }
    let most = arguments.steps.unwrap_or(usize::MAX);
    let visible = output.progress_is_visible();
    let outcome = validate(
        &bundle,
        &runner,
        PRODUCER,
        &tolerances,
        most,
        arguments.save_results.as_deref(),
        |step| {
            if visible {
                output.note(&format!("step {step}"));
            }
        },
    );
    match outcome {
        Ok(validation) => {
            let first = validation.mismatches().next().filter(|_| !arguments.no_search);
            let found = match first {
                Some(first) => {
                    divergence::search(&bundle, &runner, first, &arguments.reproducer, output)
                }
                None => Ok(None),
            };
            match found {
                Ok(found) => {
                    show(&validation, found.as_ref(), directory, &arguments.judgement, output)
                }
                Err(ValidateError::Cancelled) => Ok(Exit::Interrupted),
                Err(error) => Err(error.into()),
            }
        }
        Err(ValidateError::Cancelled) => Ok(Exit::Interrupted),
        Err(error) => Err(error.into()),
    }
}

fn judge_saved(arguments: &ValidateCompareArguments, output: &mut Output) -> Result<Exit> {
    let bundle = Bundle::open(&arguments.golden)?;
    let saved = Saved::open(&arguments.results, &bundle)?;
    let tolerances = tolerances(&arguments.judgement, precision_of(&saved))?;
    let validation = compare(&bundle, &saved, &tolerances)?;
    show(&validation, None, &arguments.golden, &arguments.judgement, output)
}

fn tolerances(arguments: &JudgementArguments, precision: Precision) -> Result<Tolerances> {
    Ok(match &arguments.tolerances {
        Some(path) => Tolerances::read(path, precision)?,
        None => Tolerances::presets(precision),
    })
}

fn show(
    validation: &Validation,
    found: Option<&Found>,
    directory: &Path,
    arguments: &JudgementArguments,
    output: &mut Output,
) -> Result<Exit> {
    if let Some(path) = &arguments.junit {
        std::fs::write(path, junit::document(validation, found))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if arguments.json {
        let mut answer = serde_json::to_value(validation)?;
        answer["bundle"] = directory.display().to_string().into();
        answer["passed"] = validation.passed().into();
        answer["judged"] = validation.judged().into();
        answer["mismatched"] = validation.mismatches().count().into();
        if let Some(found) = found {
            answer["divergence"] = found.json();
        }
        output.line(&format!("{answer:#}"))?;
    } else {
        let width = output.width();
        output.text(&page(validation, directory, width))?;
        if let Some(found) = found {
            output.text(&found.page(width))?;
        }
    }
    Ok(match (validation.judged(), validation.passed()) {
        (0, _) => Exit::Inconclusive,
        (_, true) => Exit::Pass,
        (_, false) => Exit::Failed,
    })
}

/// The validation at a glance, and its mismatches.
fn page(validation: &Validation, directory: &Path, width: usize) -> String {
    let judged = validation.judged();
    let wrong = validation.mismatches().count();
    let run = &validation.run;
    let threads = run.threads.map_or_else(String::new, |threads| format!(", {threads} threads"));
    let verdict = match (judged, wrong) {
        (0, _) => "nothing was judged".to_owned(),
        (_, 0) => format!("match: all {judged} tensors within tolerance"),
        _ => format!("MISMATCH: {wrong} of {judged} tensors beyond tolerance"),
    };
    let mut text = format!(
        "{verdict}\n{}: {}, {} tier, {}{threads}\n",
        directory.display(),
        clean(&validation.recipe),
        clean(&run.tier),
        clean(&run.precision),
    );
    let mut table =
        TextTable::new(&["step", "compared", "tensors", "match", "used", "error", "in"])
            .right(&[0, 2, 3, 4, 5]);
    for summary in validation.summaries() {
        table.row(&row(&summary));
    }
    text.push_str(&table.render(width));
    let mut mismatches = validation.mismatches();
    if let Some(first) = mismatches.next() {
        text.push_str(&format!("\nfirst mismatch: {}\n", described(first)));
        for judged in mismatches.take(SHOWN - 1) {
            text.push_str(&format!("then: {}\n", described(judged)));
        }
        if wrong > SHOWN {
            text.push_str(&format!("and {} more (--json has all)\n", wrong - SHOWN));
        }
    }
    for each in validation.unobserved.iter().take(SHOWN) {
        text.push_str(&format!(
            "not judged: activation {}: {}\n",
            clean(&each.activation),
            clean(&each.reason)
        ));
    }
    if validation.unobserved.len() > SHOWN {
        text.push_str(&format!("and {} more not judged\n", validation.unobserved.len() - SHOWN));
    }
    text.push_str(&timing(validation));
    text
}

fn row(summary: &Summary<'_>) -> [String; 7] {
    let step = summary.step.map_or_else(|| "end".to_owned(), |step| step.to_string());
    let used = match summary.worst.map_or(0.0, Judged::share) {
        share if share.is_finite() => percent(share),
        _ => "beyond".to_owned(),
    };
    let error = summary.worst.map_or_else(
        || "equal".to_owned(),
        |worst| format!("{:.1e}", worst.comparison.max_absolute_error),
    );
    [
        step,
        summary.kind.to_string(),
        summary.tensors.to_string(),
        summary.matched.to_string(),
        used,
        error,
        summary.worst.map_or_else(String::new, named),
    ]
}

/// A tensor's name, with its rank where there are several.
fn named(judged: &Judged) -> String {
    match judged.rank {
        Some(rank) => format!("{} (rank {rank})", judged.name),
        None => judged.name.clone(),
    }
}

fn described(judged: &Judged) -> String {
    let step = judged.step.map_or_else(|| "the end".to_owned(), |step| format!("step {step}"));
    // The comparison's own lines hold numbers only.
    let comparison = judged.comparison.to_string().replace('\n', "\n  ");
    format!("{step}, {} {}\n  {comparison}", judged.kind, clean(&named(judged)))
}

/// How long the steps took, without a claim about which is faster.
fn timing(validation: &Validation) -> String {
    let fastest = |times: Vec<f64>| times.into_iter().reduce(f64::min);
    let own = fastest(validation.timing.iter().map(|timing| timing.seconds).collect());
    let golden =
        fastest(validation.timing.iter().filter_map(|timing| timing.golden_seconds).collect());
    match (own, golden) {
        (Some(own), Some(golden)) => format!(
            "own-weight is shown, not judged\n\
             fastest step {} here, {} in the golden run: once each, no comparison\n",
            seconds(own),
            seconds(golden)
        ),
        _ => String::new(),
    }
}
