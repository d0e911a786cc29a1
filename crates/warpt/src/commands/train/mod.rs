//! `warpt train`: a model trained here, from data as it is published to its measure.

mod data;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};
use warpforge_engine::pool::{Placement, Pool, allowed_cpus};
use warpforge_engine::{Options, has_bf16_products, passes};
use warpforge_golden::file_digest;
use warpforge_train::squad::{Examples, Limits};
use warpforge_train::{
    Checkpoints, Evaluator, Metrics, Named, QuestionBatches, Schedule, ScheduleKind, TrainError,
    Trained, Trainer, TrainingPlan, train,
};
use warpt_report::number::{seconds, significant};
use warpt_report::table::TextTable;
use warpt_stats::median;

use self::data::Data;
use super::run::free_memory;
use crate::arguments::run::Precision;
use crate::arguments::train::{ScheduleChoice, TrainArguments, TrainCommand, TrainSquadArguments};
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;
use crate::waiting::Waiting;

/// The optimizer whose programs are used.
const OPTIMIZER: &str = "adamw";
const CHECKPOINTS: &str = "checkpoints";

/// Trains.
pub fn run(arguments: &TrainArguments, config: Option<&Path>, output: &mut Output) -> Result<Exit> {
    match &arguments.command {
        TrainCommand::Squad(squad) => run_squad(squad, config, output),
    }
}

fn run_squad(
    arguments: &TrainSquadArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    refuse_other_run(arguments)?;
    let found = match programs::found(arguments, config, output)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    let data = Data::open(arguments, &found)?;
    let precision = match arguments.precision {
        Precision::Bf16 => passes::Precision::Bf16,
        Precision::Auto if has_bf16_products() => passes::Precision::Bf16,
        Precision::F32 | Precision::Auto => passes::Precision::AsWritten,
    };
    let threads = arguments.threads.map_or_else(|| allowed_cpus().len().max(1), usize::from);
    let pool = Arc::new(Pool::new(threads, &Placement::spread(threads))?);
    let options = Options {
        memory_bytes: Some(arguments.max_memory.unwrap_or_else(free_memory)),
        precision,
        ..Options::default()
    };
    let entry = found.step_entry(arguments.accumulate)?;
    let batches = QuestionBatches::new(&data.train, entry, i64::from(arguments.seed), (0, 1))?;
    let plan = plan(arguments, batches.in_epoch());
    plan.check()?;
    let checkpoints = Checkpoints::new(
        arguments.out.join(CHECKPOINTS),
        described(arguments, &plan, &found, &data, threads, precision)?,
        arguments.keep,
    );
    let (before, weights, state) = match checkpoints.latest()? {
        Some((state, weights, optimizer)) if arguments.resume => {
            output.note(&format!("going on after step {}", state.loss.len()));
            (state.loss, weights, Some(optimizer))
        }
        None if arguments.resume => {
            bail!("{} has no checkpoint to go on from", arguments.out.display())
        }
        _ => (Vec::new(), found.weights(u64::from(arguments.seed))?, None),
    };
    let cancel = interrupt::install()?;
    let mut trainer = Trainer::new(
        &found.export,
        OPTIMIZER,
        &pool,
        &options,
        weights,
        state,
        arguments.accumulate,
    )?;
    let mut waiting = Waiting::new(output.progress_is_visible());
    let flag = cancel.flag();
    let trained =
        train(&mut trainer, &batches, &plan, before, Some(&checkpoints), Some(&flag), |progress| {
            waiting.say(|| {
                format!(
                    "step {} of {}, loss {}, {} a step",
                    progress.done,
                    progress.steps,
                    significant(progress.loss),
                    seconds(progress.seconds)
                )
            });
        });
    let trained = match trained {
        Ok(trained) => trained,
        Err(TrainError::Cancelled) => {
            drop(waiting);
            let kept = checkpoints.newest()?.unwrap_or_default();
            output.note(&format!("stopped; kept {}; --resume goes on from it", kept.display()));
            return Ok(Exit::Interrupted);
        }
        Err(error) => return Err(error.into()),
    };
    let weights = trainer.weights()?;
    let metrics = match &data.dev {
        Some(dev) => Some(ask(arguments, dev, &found, &pool, &options, &weights, &mut waiting)?),
        None => None,
    };
    drop(waiting);
    write(arguments, &trained, metrics.as_ref())?;
    let kept = checkpoints.newest()?.unwrap_or_default();
    let ended = Ended { trained: &trained, metrics: metrics.as_ref(), kept, batch: batches.size() };
    if arguments.json {
        output.line(&format!("{:#}", ended.json(arguments)))?;
    } else {
        let width = output.width();
        output.text(&ended.page(arguments, &data, width))?;
    }
    Ok(Exit::Pass)
}

/// A run that is there already is neither lost nor mixed with another.
fn refuse_other_run(arguments: &TrainSquadArguments) -> Result<()> {
    let folder = arguments.out.join(CHECKPOINTS);
    let occupied = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if occupied && !arguments.resume {
        bail!(
            "{} has checkpoints already; go on with --resume, or choose another --out",
            arguments.out.display()
        );
    }
    Ok(())
}

fn plan(arguments: &TrainSquadArguments, in_epoch: u64) -> TrainingPlan {
    let in_epoch = (in_epoch / arguments.accumulate).max(1);
    TrainingPlan {
        steps: arguments.steps.unwrap_or_else(|| arguments.epochs.saturating_mul(in_epoch)),
        schedule: Schedule {
            learning_rate: arguments.learning_rate,
            kind: match arguments.schedule {
                ScheduleChoice::Constant => ScheduleKind::Constant,
                ScheduleChoice::Linear => ScheduleKind::Linear,
            },
            warmup_steps: arguments.warmup_steps,
        },
        accumulate: arguments.accumulate,
        checkpoint_every: arguments.checkpoint_every,
    }
}

/// Everything that the weights at the end depend on.
fn described(
    arguments: &TrainSquadArguments,
    plan: &TrainingPlan,
    found: &programs::Found,
    data: &Data,
    threads: usize,
    precision: passes::Precision,
) -> Result<BTreeMap<String, Json>> {
    let digest = |path: &Path| -> Result<Json> {
        let digest =
            file_digest(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Json::from(digest))
    };
    let entry = found.step_entry(arguments.accumulate)?;
    Ok(BTreeMap::from([
        ("steps".to_owned(), json!(plan.steps)),
        ("schedule".to_owned(), serde_json::to_value(plan.schedule)?),
        ("accumulate".to_owned(), json!(plan.accumulate)),
        ("seed".to_owned(), json!(arguments.seed)),
        ("threads".to_owned(), json!(threads)),
        ("precision".to_owned(), json!(format!("{precision:?}"))),
        ("stride".to_owned(), json!(arguments.stride)),
        ("longest_question".to_owned(), json!(arguments.longest_question)),
        ("program".to_owned(), digest(&found.export.path(entry))?),
        ("weights".to_owned(), digest(&found.weights_path())?),
        ("train".to_owned(), digest(&data.train_path)?),
        ("vocabulary".to_owned(), digest(&data.vocabulary_path)?),
    ]))
}

fn ask(
    arguments: &TrainSquadArguments,
    dev: &Examples,
    found: &programs::Found,
    pool: &Arc<Pool>,
    options: &Options,
    weights: &Named,
    waiting: &mut Waiting,
) -> Result<Metrics> {
    let evaluator = Evaluator {
        examples: dev,
        questions: arguments.limit_dev.unwrap_or(usize::MAX),
        limits: Limits {
            best: arguments.best as usize,
            longest_answer: arguments.longest_answer as usize,
        },
    };
    Ok(evaluator.ask(&found.export, pool, options, weights, |done, all| {
        waiting.say(|| format!("asked {done} of {all} rows"));
    })?)
}

/// Losses, metrics and answers as files.
fn write(
    arguments: &TrainSquadArguments,
    trained: &Trained,
    metrics: Option<&Metrics>,
) -> Result<()> {
    let put = |name: &str, content: &Json| -> Result<()> {
        let path = arguments.out.join(name);
        fs::write(&path, format!("{content:#}\n"))
            .with_context(|| format!("cannot write {}", path.display()))
    };
    put("loss_curve.json", &serde_json::to_value(trained)?)?;
    if let Some(metrics) = metrics {
        put("metrics.json", &measured(metrics))?;
        // The form that the measure of SQuAD itself reads.
        put("predictions.json", &metrics.answers.iter().cloned().collect::<Json>())?;
    }
    Ok(())
}

fn measured(metrics: &Metrics) -> Json {
    json!({
        "exact_match": metrics.score.exact_match,
        "f1": metrics.score.f1,
        "questions": metrics.answers.len(),
    })
}

/// What there is to say at the end.
struct Ended<'a> {
    trained: &'a Trained,
    metrics: Option<&'a Metrics>,
    /// The last checkpoint.
    kept: PathBuf,
    /// Rows in a batch.
    batch: usize,
}

impl Ended<'_> {
    /// The median time of a step here.
    fn step_seconds(&self) -> Option<f64> {
        Some(median(&self.trained.seconds)).filter(|seconds| seconds.is_finite())
    }

    fn json(&self, arguments: &TrainSquadArguments) -> Json {
        json!({
            "steps": self.trained.loss.len(),
            "resumed_at": self.trained.resumed_at,
            "loss": self.trained.loss,
            "median_step_seconds": self.step_seconds(),
            "metrics": self.metrics.map(measured),
            "checkpoint": self.kept,
            "out": arguments.out,
        })
    }

    fn page(&self, arguments: &TrainSquadArguments, data: &Data, width: usize) -> String {
        let loss = &self.trained.loss;
        let mut table = TextTable::new(&[]);
        let mut row = |name: &str, text: String| table.row(&[name.to_owned(), text]);
        row(
            "trained",
            format!(
                "{} steps of {} rows out of {}",
                loss.len(),
                self.batch,
                data.train.windows().len()
            ),
        );
        if let (Some(first), Some(last)) = (loss.first(), loss.last()) {
            row(
                "loss",
                format!("{} at first, {} at last", significant(*first), significant(*last)),
            );
        }
        if let Some(each) = self.step_seconds() {
            let rows = self.batch as f64 * arguments.accumulate as f64 / each;
            row(
                "speed",
                format!("{} a step (median), {} rows/s", seconds(each), significant(rows)),
            );
        }
        if let Some(metrics) = self.metrics {
            let count = metrics.answers.len();
            row("f1", format!("{:.2} over {count} questions", metrics.score.f1));
            row("exact match", format!("{:.2}", metrics.score.exact_match));
        }
        row("checkpoint", self.kept.display().to_string());
        table.render(width)
    }
}
