//! `cargo xtask ci`: every gate, in order, each with its time.
//!
//! All steps run even after one failed (unless `--fail-fast`), and the names of the failed ones are the last thing
//! printed.

use std::time::{Duration, Instant};

use anyhow::bail;

use crate::repository::{cargo, succeeds, succeeds_quietly};
use crate::{
    Verdict, conformance, exports, fuzz, licences, op_status, programs, python, schema, tidy,
};

/// How to run the gates.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Stop at the first step that fails.
    #[arg(long)]
    fail_fast: bool,
    /// Run only these steps.
    #[arg(long, value_delimiter = ',', value_name = "STEP")]
    only: Vec<String>,
}

/// A gate and how it is checked: one line per gate.
type Step = (&'static str, fn() -> anyhow::Result<Verdict>);

const STEPS: &[Step] = &[
    ("fmt", fmt),
    ("clippy", clippy),
    ("tests", tests),
    ("pure-rust", pure_rust),
    ("lesser-machines", lesser_machines),
    ("matrix-unit", matrix_unit),
    ("doc-tests", doc_tests),
    ("rustdoc", rustdoc),
    ("tidy", tidy::run),
    ("schema", schema::check),
    ("op-status", op_status::check),
    ("licences", licences::check),
    ("fuzz", fuzz::check),
    ("deny", deny),
    ("python", python::check),
    ("exports", exports::check),
    ("conformance", conformance::check),
    ("programs", programs::check),
];

fn fmt() -> anyhow::Result<Verdict> {
    cargo_step(&["fmt", "--all", "--check"])
}

fn clippy() -> anyhow::Result<Verdict> {
    cargo_step(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn tests() -> anyhow::Result<Verdict> {
    if !succeeds_quietly(cargo().args(["nextest", "--version"])) {
        bail!("cargo-nextest is missing: cargo install --locked cargo-nextest");
    }
    let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
    cargo_step(&["nextest", "run", "--workspace", "--profile", profile])
}

/// Everything that can do without the vendor library, without it: lints, and the engine's tests.
fn pure_rust() -> anyhow::Result<Verdict> {
    const ENGINE: [&str; 3] = ["-p", "warpforge-engine", "--no-default-features"];
    const OTHERS: [&str; 4] = ["-p", "warpt", "-p", "xtask"];
    const STRICT: [&str; 4] = ["--all-targets", "--", "-D", "warnings"];
    let lints = [["clippy"].as_slice(), &ENGINE, &OTHERS, &STRICT].concat();
    if cargo_step(&lints)? != Verdict::Clean {
        return Ok(Verdict::Found);
    }
    cargo_step(&[["nextest", "run"].as_slice(), &ENGINE].concat())
}

/// The production tier as machines without 512-bit vectors, or without a matrix unit, run it.
fn lesser_machines() -> anyhow::Result<Verdict> {
    // With 512-bit vectors and without a matrix unit products and convolutions have kernels of their own.
    const EACH: [(&str, &str); 2] = [
        ("avx2", "binary(production)"),
        ("avx512", "binary(production) and test(/^(chains|convolutions|products|winograd)::/)"),
    ];
    let mut clean = true;
    for (instructions, wanted) in EACH {
        println!("as on a processor with {instructions}");
        let mut tests = cargo();
        tests.args(["nextest", "run", "-p", "warpforge-engine", "-E", wanted]);
        clean &= succeeds(tests.env("WARPFORGE_INSTRUCTIONS", instructions))?;
    }
    Ok(Verdict::clean_if(clean))
}

/// The kernels of the matrix unit, its instructions carried out one by one, where the machine has none of its own: there the
/// tests before have seen them.
fn matrix_unit() -> anyhow::Result<Verdict> {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if processor.split_whitespace().any(|flag| flag == "amx_bf16") {
        println!("this machine has a matrix unit: the tests have used it");
        return Ok(Verdict::Clean);
    }
    if !processor.split_whitespace().any(|flag| flag == "avx512f") {
        println!("the kernels of the matrix unit are not tested: they need vectors of 512 bits");
        return Ok(Verdict::Clean);
    }
    const KERNELS: &str =
        "binary(production) and test(/^(chains|convolutions|parts|products|updates)::/)";
    let engine = ["-p", "warpforge-engine", "--features", "emulated"];
    let run = ["nextest", "run", "--profile", "emulated"];
    cargo_step(&[run.as_slice(), &engine, &["-E", KERNELS]].concat())
}

fn doc_tests() -> anyhow::Result<Verdict> {
    cargo_step(&["test", "--workspace", "--doc", "--quiet"])
}

fn rustdoc() -> anyhow::Result<Verdict> {
    let mut doc = cargo();
    doc.args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    doc.env(
        "RUSTDOCFLAGS",
        "-D rustdoc::broken_intra_doc_links -A rustdoc::private_intra_doc_links",
    );
    Ok(Verdict::clean_if(succeeds(&mut doc)?))
}

/// The dependency policy of deny.toml. The licence rule is also part of `tidy`, which needs no extra program.
fn deny() -> anyhow::Result<Verdict> {
    if !succeeds_quietly(cargo().args(["deny", "--version"])) {
        println!(
            "cargo-deny is not installed: bans and sources are not checked (licences are, by tidy)"
        );
        return Ok(Verdict::Clean);
    }
    let policy = cargo_step(&["deny", "check", "licenses", "bans", "sources"])?;
    let mut database = std::process::Command::new("timeout");
    database.args(["10", "git", "ls-remote", "--exit-code", ADVISORY_DATABASE, "HEAD"]);
    if !succeeds_quietly(database.env("GIT_TERMINAL_PROMPT", "0")) {
        println!("advisories are not checked: {ADVISORY_DATABASE} cannot be reached from here");
        return Ok(policy);
    }
    let advisories = cargo_step(&["deny", "check", "advisories"])?;
    Ok(if policy == Verdict::Clean { advisories } else { policy })
}

const ADVISORY_DATABASE: &str = "https://github.com/rustsec/advisory-db";

fn cargo_step(arguments: &[&str]) -> anyhow::Result<Verdict> {
    Ok(Verdict::clean_if(succeeds(cargo().args(arguments))?))
}

/// What became of one step.
#[derive(Debug)]
struct Done {
    name: &'static str,
    passed: bool,
    time: Duration,
}

/// Runs the chosen steps and prints what became of each.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let steps = select(&arguments.only)?;
    let mut done = Vec::new();
    for (name, step) in steps {
        println!("==> {name}");
        let start = Instant::now();
        let passed = step().unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            Verdict::Found
        }) == Verdict::Clean;
        let time = start.elapsed();
        println!("<== {name}: {} in {:.1} s", word(passed), time.as_secs_f64());
        done.push(Done { name, passed, time });
        if !passed && arguments.fail_fast {
            break;
        }
    }
    println!("{}", summary(&done));
    Ok(Verdict::clean_if(done.iter().all(|step| step.passed)))
}

fn select(only: &[String]) -> anyhow::Result<Vec<Step>> {
    let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("no step `{unknown}`; the steps are {}", names.join(", "));
    }
    let chosen = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    Ok(STEPS.iter().copied().filter(|(name, _)| chosen(name)).collect())
}

fn word(passed: bool) -> &'static str {
    if passed { "ok" } else { "FAILED" }
}

fn summary(done: &[Done]) -> String {
    let mut text = String::new();
    for step in done {
        let seconds = step.time.as_secs_f64();
        text.push_str(&format!("{:<10} {:<6} {seconds:>7.1} s\n", step.name, word(step.passed)));
    }
    let failed: Vec<&str> = done.iter().filter(|step| !step.passed).map(|step| step.name).collect();
    let total: Duration = done.iter().map(|step| step.time).sum();
    if failed.is_empty() {
        text.push_str(&format!("all steps passed in {:.0} s", total.as_secs_f64()));
    } else {
        text.push_str(&format!("FAILED: {}", failed.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_steps_are_named_last() {
        let step = |name, passed| Done { name, passed, time: Duration::from_millis(1500) };
        let text = summary(&[step("fmt", true), step("clippy", false), step("tidy", false)]);
        assert_eq!(text.lines().last(), Some("FAILED: clippy, tidy"));
        assert!(text.starts_with("fmt        ok         1.5 s"), "{text}");
        assert_eq!(summary(&[step("fmt", true)]).lines().last(), Some("all steps passed in 2 s"));
    }

    #[test]
    fn steps_can_be_chosen_by_name() {
        let chosen = select(&["tidy".into(), "fmt".into()]).unwrap();
        assert_eq!(chosen.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["fmt", "tidy"]);
        assert!(select(&["format".into()]).unwrap_err().to_string().contains("clippy"));
        assert_eq!(select(&[]).unwrap().len(), STEPS.len());
    }
}
