//! `warpt golden` and `warpt validate` as a user meets them: pages, JSON, messages, exit codes.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn warpt(directory: &Path, arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(arguments)
        .current_dir(directory)
        .env("XDG_DATA_HOME", directory.join("data"))
        .env_remove("WARPT_HISTORY_DIRECTORY")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    let err = String::from_utf8(output.stderr.clone()).unwrap();
    (output, out, err)
}

/// A place to work in with the bundle as `golden`.
fn prepared(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(fixture(name).canonicalize().unwrap(), folder.path().join("golden"))
        .unwrap();
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_bundle_is_shown() {
    let folder = prepared("mlp");
    let (output, out, err) = warpt(folder.path(), &["golden", "inspect", "golden"]);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    for part in [
        "mlp: warpforge.export.recipes.mlp.Perceptron",
        "2 steps, 2 recorded",
        "CC0-1.0",
        "every digest verified",
    ] {
        assert!(out.contains(part), "{part}\n{out}");
    }
    let (_, out, _) = warpt(folder.path(), &["golden", "inspect", "golden", "--json"]);
    let shown = json(&out);
    assert_eq!(shown["manifest"]["format"], "warpforge.golden");
    assert_eq!(shown["digest"].as_str().unwrap().len(), 64);
}

#[test]
fn a_model_that_matches() {
    let folder = prepared("mlp");
    for tier in ["production", "correctness"] {
        let (output, out, err) = warpt(folder.path(), &["validate", "golden", "--tier", tier]);
        assert_eq!(output.status.code(), Some(0), "{out}{err}");
        assert!(out.starts_with("match: all 51 tensors within tolerance\n"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
    let (_, out, _) = warpt(folder.path(), &["validate", "golden", "--json", "--steps", "1"]);
    let answer = json(&out);
    assert_eq!(answer["passed"], true);
    assert_eq!(answer["comparisons"][0]["kind"], "activation");
    let folder = prepared("mlp-ranks");
    let (output, out, _) = warpt(folder.path(), &["validate", "golden"]);
    assert_eq!(output.status.code(), Some(0), "{out}");
    assert!(out.contains("mean-gradient"), "{out}");
}

#[test]
fn a_mismatch_is_shown_and_is_exit_code_1() {
    let folder = prepared("mlp");
    let rules = "[[rule]]\ntensor = \"gradient/up.*\"\nabsolute = 0.0\nreason = \"nothing is ever equal\"\n";
    std::fs::write(folder.path().join("strict.toml"), rules).unwrap();
    let words = ["validate", "golden", "--tier", "correctness", "--tolerances", "strict.toml"];
    let (output, out, _) = warpt(folder.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.starts_with("MISMATCH: "), "{out}");
    assert!(out.contains("\nfirst mismatch: step 0, gradient up."), "{out}");
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("beyond tolerance (equal, all finite)"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn a_mismatch_says_where_it_begins_and_is_a_failed_test_case() {
    let folder = prepared("mlp");
    let rules = "[[rule]]\ntensor = \"gradient/up.*\"\nabsolute = 0.0\nreason = \"nothing is ever equal\"\n";
    std::fs::write(folder.path().join("strict.toml"), rules).unwrap();
    let arguments = ["validate", "golden", "--tolerances", "strict.toml", "--junit", "cases.xml"];
    let (output, out, err) = warpt(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    // Nothing is wrong here but the tolerance: no op and no kernel is to blame.
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("begins in step 0, program gradients: gradient up."), "{out}");
    assert!(flat.contains("the program and PyTorch disagree"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let cases = std::fs::read_to_string(folder.path().join("cases.xml")).unwrap();
    assert!(cases.contains("name=\"mlp step 0\"") && cases.contains("<failure"), "{cases}");
    let (_, out, _) = warpt(folder.path(), &["validate", "golden", "--no-search"]);
    assert!(!out.contains("begins in"), "{out}");
}

#[test]
fn results_are_kept_and_judged_later() {
    let folder = prepared("mlp");
    let (output, _, err) =
        warpt(folder.path(), &["validate", "golden", "--save-results", "results"]);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let words = ["validate", "compare", "--golden", "golden", "--results", "results"];
    let (output, out, err) = warpt(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.starts_with("match: all 51 tensors"), "{out}");
    let results =
        json(&std::fs::read_to_string(folder.path().join("results/manifest.json")).unwrap());
    let schema = json(&std::fs::read_to_string(fixture("../../schemas/results.v1.json")).unwrap());
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&results));
    std::fs::remove_file(folder.path().join("results/steps/0001/optimizer.safetensors")).unwrap();
    let (output, _, err) = warpt(folder.path(), &words);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("optimizer.safetensors: cannot read"), "{err}");
}

#[test]
fn what_cannot_be_judged_is_exit_code_2_with_a_reason() {
    let folder = prepared("mlp");
    for (words, reason) in [
        (vec!["validate", "."], "is not a golden bundle"),
        (vec!["golden", "inspect", "none"], "none: cannot read"),
        (
            vec!["validate", "golden", "--tier", "correctness", "--threads", "2"],
            "need --tier production",
        ),
        (vec!["validate", "golden", "--tolerances", "none.toml"], "none.toml: cannot read"),
        (vec!["validate", "golden", "--max-memory", "1KiB"], "above the limit of 1024"),
        (
            vec!["validate", "compare", "--golden", "golden", "--results", "golden"],
            "expected \"warpforge.results\"",
        ),
        (vec!["validate"], "DIR"),
    ] {
        let (output, _, err) = warpt(folder.path(), &words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {err}");
        assert!(err.contains(reason), "{words:?}: {err}");
    }
}

#[test]
fn data_sets_are_listed_and_some_licences_have_to_be_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (output, out, err) = warpt(folder.path(), &["data", "list", "--data", "."]);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("squad-v1.1") && out.contains("CC-BY-SA-4.0"), "{out}");
    let table = out.split("\n\n").next().unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (output, out, _) = warpt(folder.path(), &["data", "check", "squad-v1.1", "--data", "."]);
    assert_eq!(output.status.code(), Some(1), "{out}");
    assert!(out.contains("missing") && out.contains("get it from"), "{out}");
    let (output, _, err) = warpt(folder.path(), &["data", "check", "alpaca", "--data", "."]);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("--accept-licence CC-BY-NC-4.0"), "{err}");
    std::fs::create_dir(folder.path().join("alpaca")).unwrap();
    std::fs::write(folder.path().join("alpaca/alpaca_data.json"), "[]").unwrap();
    let words = ["data", "check", "alpaca", "--data", ".", "--accept-licence", "CC-BY-NC-4.0"];
    let (output, out, err) = warpt(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
}
