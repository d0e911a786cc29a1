//! `cargo xtask faults`: what `warpt validate` notices. Faults of many classes are planted at random ops, steps and arguments of
//! a small BERT; each that is at least four times as large as what is allowed must be found, and where it begins be named;
//! those below a quarter must stay silent, and so must clean runs on any number of threads.
//!
//! How large a fault is, is measured in the correctness tier and kept in a list before anything is looked for in the
//! production tier.

mod classes;
mod sample;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use warpforge_golden::Bundle;
use warpforge_tensor::Tensor;
use warpforge_validate::{
    Judged, Origin, Precision, Runner, StepLocked, Tier, Tolerances, Validation, first_divergence,
    judge,
};

use self::classes::Class;
use self::sample::{Fault, List, Planted};
use crate::{Verdict, install, python};

/// What is planted and looked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Faults that must be found.
    #[arg(long, default_value_t = 120)]
    count: usize,
    /// Faults that must stay silent.
    #[arg(long, default_value_t = 40)]
    silent: usize,
    /// Clean validations.
    #[arg(long, default_value_t = 100)]
    clean: usize,
    /// Where the choice begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the list of faults to this file and end, before anything is looked for.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Take the faults from this file.
    #[arg(long, value_name = "FILE", conflicts_with = "write")]
    list: Option<PathBuf>,
}

/// The share of the faults that must be found, and of those found that must be named rightly.
const FOUND: f64 = 116.0 / 120.0;
const NAMED: f64 = 0.90;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let bundle = bundle()?;
    let list = match &arguments.list {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            serde_json::from_str::<List>(&text).context("the list of faults")?
        }
        None => sample::choose(&bundle, arguments.count, arguments.silent, arguments.seed)?,
    };
    if let Some(path) = &arguments.write {
        std::fs::write(path, serde_json::to_string_pretty(&list)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!(
            "{} faults and {} silent ones are in {}",
            list.large.len(),
            list.silent.len(),
            path.display()
        );
        return Ok(Verdict::Clean);
    }
    let mut met = true;
    met &= found(&bundle, &list)?;
    met &= silent(&bundle, &list)?;
    met &= clean(&bundle, arguments.clean)?;
    Ok(Verdict::clean_if(met))
}

/// The small BERT, trained by PyTorch for three steps; made once.
fn bundle() -> anyhow::Result<Bundle> {
    let environment =
        python::environment("export,conformance,test", "PyTorch, JAX and tools", "minutes, 6 GB")?;
    let options = [
        "bert-squad",
        "--layers",
        "2",
        "--hidden",
        "64",
        "--heads",
        "4",
        "--intermediate",
        "128",
        "--vocabulary",
        "256",
        "--sequence",
        "32",
        "--batch-size",
        "2",
        "--steps",
        "3",
        "--threads",
        "1",
    ];
    let key = crate::exports::key(&options.join(" "))?;
    let directory = install::cache("golden")?.join(format!("faults-{key}"));
    if !directory.join("manifest.json").is_file() {
        let _ = std::fs::remove_dir_all(&directory);
        eprintln!("training a small BERT in PyTorch");
        let mut command = environment.program("python");
        command.args(["-m", "warpforge.golden"]).args(options);
        command
            .arg("--out")
            .arg(&directory)
            .env("PYTHONPATH", crate::repository::root().join("python"));
        ensure!(crate::repository::succeeds(&mut command)?, "no golden bundle could be made");
    }
    Ok(Bundle::open(&directory)?)
}

/// A runner with a fault in it, or none.
fn runner<'a>(tier: Tier, planted: Option<&'a Planted>) -> anyhow::Result<Runner<'a>> {
    let mut runner = Runner::new(tier, Precision::AsWritten)?;
    match planted {
        Some(Planted::Program(name, program)) => {
            runner.replaced = HashMap::from([(name.clone(), (**program).clone())]);
        }
        Some(Planted::Arguments(disturb)) => runner.disturbed = Some(&**disturb),
        None => {}
    }
    Ok(runner)
}

/// One step, judged.
fn judged(bundle: &Bundle, runner: &Runner<'_>, index: u64) -> anyhow::Result<Validation> {
    let tolerances = Tolerances::presets(Precision::AsWritten);
    let described = runner.described("xtask");
    let mut validation =
        Validation::new(&bundle.manifest().model.recipe, bundle.digest(), described);
    let mut locked = StepLocked::new(runner, bundle)?;
    validation.unobserved = locked.unobserved().to_vec();
    let step = bundle.manifest().steps.iter().find(|step| step.index == index);
    let outcome = locked.step(step.context("no such step")?)?;
    judge(&mut validation, bundle, &outcome, &tolerances)?;
    Ok(validation)
}

/// Faults that must be found: the steps before are clean, the fault is in its step.
fn found(bundle: &Bundle, list: &List) -> anyhow::Result<bool> {
    let mut classes: BTreeMap<Class, [usize; 3]> = BTreeMap::new();
    let (mut detected, mut named) = (0, 0);
    for (number, fault) in list.large.iter().enumerate() {
        let planted = fault.planted(bundle)?.context("a fault that cannot be planted")?;
        let threads = 1 + number % 2;
        let with = runner(Tier::Production { threads }, Some(&planted))?;
        let validation = judged(bundle, &with, fault.step)?;
        let counts = classes.entry(fault.class).or_default();
        counts[0] += 1;
        let Some(first) = validation.mismatches().next() else {
            println!("not found: {}", fault.described());
            continue;
        };
        detected += 1;
        counts[1] += 1;
        let divergence = first_divergence(bundle, &with, first, &mut |_| {})?;
        if is_named(fault, &divergence.origin) {
            named += 1;
            counts[2] += 1;
        } else {
            let origin = serde_json::to_string(&divergence.origin)?;
            println!(
                "named otherwise: {}; found {origin}, first {}",
                fault.described(),
                shown(first)
            );
        }
    }
    println!("\nclass               planted  found  named");
    for (class, [planted, found, named]) in &classes {
        let name = serde_json::to_value(class)?;
        println!("{:<19} {planted:>7} {found:>6} {named:>6}", name.as_str().unwrap_or_default());
    }
    let total = list.large.len();
    println!("{detected} of {total} faults were found, {named} of these named rightly");
    Ok(detected as f64 >= FOUND * total as f64 && named as f64 >= NAMED * detected as f64)
}

fn shown(judged: &Judged) -> String {
    format!("{} {}", judged.kind, judged.name)
}

/// Whether what was found is what was planted.
fn is_named(fault: &Fault, origin: &Origin) -> bool {
    match origin {
        Origin::Op { value, op, .. } if fault.class == Class::SwappedResults => {
            op == "func.return" && !value.is_empty()
        }
        Origin::Op { value, .. } => *value == fault.value,
        Origin::Argument { name, .. } => *name == fault.value,
        Origin::Kernel { .. } | Origin::Model { .. } => false,
    }
}

fn silent(bundle: &Bundle, list: &List) -> anyhow::Result<bool> {
    let mut loud = 0;
    for fault in &list.silent {
        let planted = fault.planted(bundle)?.context("a fault that cannot be planted")?;
        let with = runner(Tier::Production { threads: 2 }, Some(&planted))?;
        let validation = judged(bundle, &with, fault.step)?;
        if let Some(first) = validation.mismatches().next() {
            loud += 1;
            println!("not silent: {}; {}", fault.described(), shown(first));
        }
    }
    println!("{} of {} small faults stayed silent", list.silent.len() - loud, list.silent.len());
    Ok(loud == 0)
}

fn clean(bundle: &Bundle, count: usize) -> anyhow::Result<bool> {
    let (mut alarms, steps) = (0, &bundle.manifest().steps);
    for number in 0..count {
        let with = runner(Tier::Production { threads: 1 + number % 4 }, None)?;
        let step = steps[number % steps.len()].index;
        let validation = judged(bundle, &with, step)?;
        if let Some(first) = validation.mismatches().next() {
            alarms += 1;
            println!("false alarm on {} threads: {}", 1 + number % 4, shown(first));
        }
        if validation.judged() == 0 {
            bail!("nothing was judged");
        }
    }
    println!("{alarms} false alarms in {count} clean validations on 1 to 4 threads");
    Ok(alarms == 0)
}

/// Where a bundle's golden tensors of a file are.
fn tensor(
    bundle: &Bundle,
    path: &warpforge_golden::FilePath,
    name: &str,
) -> anyhow::Result<Tensor> {
    Ok(bundle.tensors(path)?.tensor(name)?)
}
