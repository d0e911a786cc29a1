//! DuckDB from PyPI, in an environment of its own in `${XDG_CACHE_HOME:-~/.cache}/warpforge/peers`, reads the store's files
//! and an exported one, answers the same questions, and says what they cost it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use warpt_history::store::{Selection, Store};
use warpt_machine::resource_usage::ResourceUsage;

use super::synthetic::{DAYS, Fleet};
use crate::measurement::{Goal, Measured, Row};

const SCRIPT: &str = include_str!("questions.py");
/// Sums in another order differ in the last digits.
const TOLERANCE: f64 = 1e-9;

/// Asks both.
pub(super) fn compare(directory: &Path, power: u32) -> anyhow::Result<Vec<Row>> {
    let python = install()?;
    let fleet = Fleet::of_rows(10_u64.pow(power));
    let store = Store::open(&directory.join("store"))?;
    for day in 0..DAYS {
        store.load(fleet.runs(day))?;
    }
    store.compact()?;
    let exported = directory.join("exported.parquet");
    let count = store.export_parquet(&Selection::default(), &exported)?;
    ensure!(count == fleet.rows(), "{count} rows exported of {}", fleet.rows());
    let ours = ours(&store, &fleet)?;
    let mut rows = Vec::new();
    let sources = [
        ("exported", exported.display().to_string()),
        ("store", format!("{}/rows/*/*.parquet", directory.join("store").display())),
    ];
    for (source, files) in sources {
        let theirs = theirs(&python, directory, &files, &fleet)?;
        for (name, answer, seconds) in &ours {
            let their = &theirs["answers"][*name];
            let same = same(answer, their);
            let cost = theirs["seconds"][*name].as_f64().unwrap_or(f64::NAN);
            let ratio = if same { cost / seconds } else { f64::NAN };
            let notes = vec![match same {
                true => format!("the same {} answers", answer.as_array().map_or(0, Vec::len)),
                false => "the answers DIFFER".to_owned(),
            }];
            // Equal answers are what must hold; what each costs is stated.
            let measured = Measured {
                ours: *seconds,
                peer: cost,
                unit: "CPU-s",
                ratio,
                low: ratio,
                high: ratio,
                notes,
            };
            rows.push(Row::new(&format!("{source}_{name}"), Goal::Minimum(0.0), measured));
        }
    }
    Ok(rows)
}

fn ours(store: &Store, fleet: &Fleet) -> anyhow::Result<Vec<(&'static str, Value, f64)>> {
    let metric = Selection::metric(fleet.metric(42));
    let machine =
        Selection { machine: Some(Fleet::machine(fleet.machines / 2)), ..Selection::default() };
    let yesterday = Fleet::day(DAYS - 1);
    let ask = |name: &'static str, ask: &dyn Fn() -> anyhow::Result<Vec<Value>>| {
        let before = ResourceUsage::of_this_process().cpu_seconds;
        let mut answer = ask()?;
        let seconds = ResourceUsage::of_this_process().cpu_seconds - before;
        answer.sort_by_key(Value::to_string);
        anyhow::Ok((name, Value::Array(answer), seconds))
    };
    Ok(vec![
        ask("metric", &|| {
            let points = store.series(&metric)?;
            Ok(points
                .iter()
                .map(|p| json!([p.machine, p.time.as_microsecond(), p.value, p.low, p.high]))
                .collect())
        })?,
        ask("machine", &|| {
            let points = store.series(&machine)?;
            Ok(points
                .iter()
                .map(|p| json!([p.key.metric, p.time.as_microsecond(), p.value]))
                .collect())
        })?,
        ask("fleet", &|| {
            let days = store.fleet(&metric)?;
            Ok(days.iter().map(|d| json!([d.day.to_string(), d.machines, d.p50, d.p95])).collect())
        })?,
        ask("recent", &|| {
            let recent = store.recent(&Selection::default(), yesterday, 30)?;
            Ok(recent
                .iter()
                .map(|r| json!([r.key.metric, r.value, r.baseline, r.lowest, r.highest]))
                .collect())
        })?,
    ])
}

fn theirs(python: &Path, directory: &Path, files: &str, fleet: &Fleet) -> anyhow::Result<Value> {
    let script = directory.join("questions.py");
    std::fs::write(&script, SCRIPT)?;
    let output = Command::new(python)
        .arg(&script)
        .args([files, fleet.metric(42), &Fleet::machine(fleet.machines / 2)])
        .arg(Fleet::day(DAYS - 1).to_string())
        .output()
        .context("cannot start python")?;
    if !output.status.success() {
        bail!("duckdb: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut answer: Value = serde_json::from_slice(&output.stdout).context("duckdb's answer")?;
    let answers = answer["answers"].as_object_mut().context("duckdb gave no answers")?;
    for list in answers.values_mut().filter_map(Value::as_array_mut) {
        list.sort_by_key(Value::to_string);
    }
    Ok(answer)
}

/// Equal, numbers up to rounding. Lists are sorted by their first texts and times, which are exact.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
            _ => false,
        },
        (a, b) => a == b,
    }
}

/// The interpreter of the environment, which is made at first use.
fn install() -> anyhow::Result<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    let environment = cache.join("warpforge/peers/duckdb-venv");
    let python = environment.join("bin/python");
    let works = |python: &Path| {
        let import = Command::new(python).args(["-c", "import duckdb"]).output();
        import.is_ok_and(|output| output.status.success())
    };
    if works(&python) {
        return Ok(python);
    }
    eprintln!("  installing duckdb from PyPI");
    let run = |command: &mut Command| -> anyhow::Result<()> {
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "duckdb"];
    run(Command::new(&python).args(options))?;
    ensure!(works(&python), "PyPI's duckdb cannot be imported");
    Ok(python)
}
