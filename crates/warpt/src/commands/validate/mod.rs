//! `warpt validate`: a model judged by a golden bundle, run here or from saved results.

mod divergence;
mod free_run;
mod html;
mod junit;
mod page;
mod record;
mod suggest;

use std::path::Path;

use anyhow::{Context, Result, bail};
use warpforge_engine::has_bf16_products;
use warpforge_engine::pool::allowed_cpus;
use warpforge_golden::Bundle;
use warpforge_validate::{
    Precision, Runner, Saved, Tier, Tolerances, ValidateError, Validation, compare, precision_of,
    validate,
};
use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::write_atomically;
use warpt_report::number::bytes;

use self::divergence::Found;
use self::html::About;
use self::record::Recording;
pub use self::record::SUITE;
use super::run::free_memory;
use crate::arguments::golden::{
    JudgementArguments, ValidateArguments, ValidateCommand, ValidateCompareArguments,
};
use crate::arguments::run;
use crate::config::Config;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;

/// What runs the programs, for records.
const PRODUCER: &str = concat!("warpt ", env!("CARGO_PKG_VERSION"));

/// What was asked for.
struct Asked<'a> {
    arguments: &'a ValidateArguments,
    /// Where the bundle lies, as it was named.
    directory: &'a Path,
    config: &'a Config,
}

impl Asked<'_> {
    /// Keeps a record, where there is one.
    fn keep(&self, record: Option<&BenchmarkSuiteRun>, output: &mut Output) -> Result<()> {
        match record {
            Some(run) => record::keep(run, &self.arguments.record, self.config, output),
            None => Ok(()),
        }
    }
}

/// Runs and judges, or judges.
pub fn run(
    arguments: &ValidateArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    match (&arguments.command, &arguments.bundle) {
        (Some(ValidateCommand::Compare(compare)), _) => judge_saved(compare, output),
        (None, Some(directory)) => {
            if let Some(file) = &arguments.suggest_tolerances {
                return suggest::run(arguments, directory, file, output);
            }
            let config = record::settle(&arguments.record, config)?;
            run_and_judge(&Asked { arguments, directory, config: &config }, output)
        }
        (None, None) => bail!("expected the directory of a golden bundle"),
    }
}

/// How exactly products are computed.
fn precision(arguments: &ValidateArguments) -> Precision {
    match arguments.precision {
        run::Precision::Bf16 => Precision::Bf16,
        run::Precision::Auto if has_bf16_products() => Precision::Bf16,
        run::Precision::F32 | run::Precision::Auto => Precision::AsWritten,
    }
}

fn run_and_judge(asked: &Asked<'_>, output: &mut Output) -> Result<Exit> {
    let arguments = asked.arguments;
    let precision = precision(arguments);
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
    let bundle = Bundle::open(asked.directory)?;
    let cancel = interrupt::install()?;
    let flag = cancel.flag();
    let mut runner = Runner::new(tier, precision)?;
    runner.memory_bytes = Some(arguments.max_memory.unwrap_or_else(free_memory));
    runner.cancel = Some(&flag);
    if arguments.free_run {
        return free_run::run(&bundle, &runner, asked, output);
    }
    let recording = Recording::begin(arguments, asked.config);
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
    let searched = outcome.and_then(|validation| {
        let record = recording.map(|recording| recording.steps(&bundle, &validation));
        let first = validation.mismatches().next().filter(|_| !arguments.no_search);
        let found = match first {
            Some(first) => {
                divergence::search(&bundle, &runner, first, &arguments.reproducer, output)?
            }
            None => None,
        };
        Ok((validation, found, record))
    });
    let (validation, found, record) = match searched {
        Ok(searched) => searched,
        Err(ValidateError::Cancelled) => return Ok(Exit::Interrupted),
        Err(error) => return Err(error.into()),
    };
    let about = About { directory: asked.directory, bundle: &bundle, record: record.as_ref() };
    let exit = show(&validation, found.as_ref(), &about, &arguments.judgement, output)?;
    asked.keep(record.as_ref(), output)?;
    Ok(exit)
}

fn judge_saved(arguments: &ValidateCompareArguments, output: &mut Output) -> Result<Exit> {
    let bundle = Bundle::open(&arguments.golden)?;
    let saved = Saved::open(&arguments.results, &bundle)?;
    let tolerances = tolerances(&arguments.judgement, precision_of(&saved))?;
    let validation = compare(&bundle, &saved, &tolerances)?;
    let about = About { directory: &arguments.golden, bundle: &bundle, record: None };
    show(&validation, None, &about, &arguments.judgement, output)
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
    about: &About<'_>,
    arguments: &JudgementArguments,
    output: &mut Output,
) -> Result<Exit> {
    if let Some(path) = &arguments.junit {
        std::fs::write(path, junit::document(validation, found))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &arguments.html {
        write_page(path, &html::steps(validation, found, about), output)?;
    }
    if arguments.json {
        let mut answer = serde_json::to_value(validation)?;
        answer["bundle"] = about.directory.display().to_string().into();
        answer["passed"] = validation.passed().into();
        answer["judged"] = validation.judged().into();
        answer["mismatched"] = validation.mismatches().count().into();
        if let Some(found) = found {
            answer["divergence"] = found.json();
        }
        output.line(&format!("{answer:#}"))?;
    } else {
        let width = output.width();
        output.text(&page::page(validation, about.directory, width))?;
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

/// Writes a page for people.
fn write_page(path: &Path, text: &str, output: &mut Output) -> Result<()> {
    write_atomically(path, text.as_bytes())?;
    output.note(&format!("page: {} ({})", path.display(), bytes(text.len() as u64)));
    Ok(())
}
