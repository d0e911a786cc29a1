//! `warpt golden`: makes bundles through the Python package, and shows what one holds.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use warpforge_golden::{Bundle, Manifest};
use warpt_report::number::{bytes, seconds, significant};
use warpt_report::table::TextTable;

use super::python_package::Package;
use crate::arguments::golden::{GoldenArguments, GoldenCommand, GoldenInspectArguments};
use crate::exit::Exit;
use crate::output::Output;

const GOLDEN: Package = Package {
    module: "warpforge.golden",
    title: "the golden run",
    thrift: "a smaller --batch-size needs less",
};

/// Makes or shows.
pub fn run(
    arguments: &GoldenArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    match &arguments.command {
        GoldenCommand::Make(make) => GOLDEN.run(&make.package, config, output),
        GoldenCommand::Inspect(inspect) => show(inspect, output),
    }
}

fn show(arguments: &GoldenInspectArguments, output: &mut Output) -> Result<Exit> {
    let bundle = Bundle::open(&arguments.bundle)?;
    if arguments.json {
        let answer = json!({
            "digest": bundle.digest(),
            "bytes": bundle.bytes(),
            "verified": true,
            "parameter_count": bundle.programs().model.parameter_count,
            "loss_curve": bundle.loss_curve(),
            "metrics": bundle.metrics().metrics,
            "manifest": bundle.manifest(),
        });
        output.line(&format!("{answer:#}"))?;
    } else {
        let width = output.width();
        output.text(&page(&bundle, width))?;
    }
    Ok(Exit::Pass)
}

/// The bundle at a glance.
fn page(bundle: &Bundle, width: usize) -> String {
    let mut table = TextTable::new(&[]);
    for (name, fact) in facts(bundle) {
        table.row(&[name.to_owned(), fact]);
    }
    table.render(width)
}

/// What a bundle holds, by name; texts are as the bundle has them.
pub(super) fn facts(bundle: &Bundle) -> Vec<(&'static str, String)> {
    let manifest = bundle.manifest();
    let Manifest { model, configuration, .. } = manifest;
    let exported = &bundle.programs().model;
    let mut facts = Vec::new();
    let name = model.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
    facts.push((
        "model",
        format!(
            "{}{name}: {}, {} parameters of {}, {}",
            model.recipe,
            exported.kind,
            exported.parameter_count,
            configuration.dtype,
            model.weights
        ),
    ));
    let options: Vec<String> =
        model.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    facts.push(("options", options.join(" ").replace('"', "")));
    let autocast = configuration.autocast.as_ref();
    facts.push((
        "training",
        format!(
            "{} steps, {} recorded, batches of {} on {} ranks, {}{}",
            configuration.steps,
            manifest.steps.len(),
            configuration.batch_size,
            configuration.ranks,
            count(configuration.threads, "thread"),
            autocast.map_or_else(String::new, |kind| format!(", products in {kind}"))
        ),
    ));
    let optimizer = &configuration.optimizer;
    facts.push((
        "optimizer",
        format!(
            "{}, {} learning rate {}, betas {} {}, epsilon {}, weight decay {}",
            optimizer.name,
            configuration.schedule.kind,
            configuration.schedule.learning_rate,
            optimizer.beta1,
            optimizer.beta2,
            optimizer.epsilon,
            optimizer.weight_decay
        ),
    ));
    let seeds = &manifest.seeds;
    facts.push(("seeds", format!("weights {}, data {}", seeds.weights, seeds.data)));
    for data in &manifest.data {
        let line = format!("{} ({}): {}", data.name, data.licence, data.description);
        facts.push(("data", line));
    }
    let versions: Vec<String> =
        manifest.generator.iter().map(|(name, version)| format!("{name} {version}")).collect();
    facts.push(("made with", versions.join(", ")));
    let machine: Vec<String> =
        manifest.machine.iter().map(|(name, value)| format!("{name} {value}")).collect();
    facts.push(("made on", machine.join(", ").replace('"', "")));
    let programs: Vec<&str> =
        bundle.programs().programs.iter().map(|program| program.name.as_str()).collect();
    facts.push(("programs", programs.join(", ")));
    facts.push((
        "activations",
        count(manifest.activations.len() as u64, "tensor") + " of each rank and step",
    ));
    let curve = bundle.loss_curve();
    if let (Some(first), Some(last)) = (curve.loss.first(), curve.loss.last()) {
        let total: f64 = curve.seconds.iter().sum();
        let each = seconds(total / curve.seconds.len() as f64);
        facts.push((
            "loss",
            format!(
                "{} at first, {} at last, {each} a step",
                significant(*first),
                significant(*last)
            ),
        ));
    }
    let metrics: Vec<String> = bundle
        .metrics()
        .metrics
        .iter()
        .map(|(name, value)| format!("{name} {}", significant(*value)))
        .collect();
    facts.push(("metrics", metrics.join(", ")));
    facts.push((
        "files",
        format!(
            "{}, {}, every digest verified",
            count(manifest.files.len() as u64, "file"),
            bytes(bundle.bytes())
        ),
    ));
    facts.push(("digest", bundle.digest().to_owned()));
    facts
}

/// A number of things.
fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
