//! `warpt run` as a user meets it: tables, files, traces, messages, exit codes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use warpforge_tensor::{DType, Shape, Tensor, npy, safetensors};

const AFFINE: &str = r#"module @affine {
  func.func public @main(%arg0: tensor<2x3xf32> {jax.arg_info = "weights"}, %arg1: tensor<3xf32> {jax.arg_info = "x"}) -> (tensor<2xf32> {jax.result_info = "y"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
    %cst = stablehlo.constant dense<1.0> : tensor<2xf32>
    %1 = stablehlo.add %0, %cst : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
"#;

fn warpt(directory: &Path, arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_warpt"))
        .arg("run")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    let err = String::from_utf8(output.stderr.clone()).unwrap();
    (output, out, err)
}

fn floats(sizes: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_floats(DType::F32, Shape::new(sizes).unwrap(), values.to_vec()).unwrap()
}

/// A directory with the program and its inputs.
fn prepared() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("affine.mlir"), AFFINE).unwrap();
    let weights = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let x = floats(&[3], &[1.0, 0.0, -1.0]);
    let inputs = [("weights", &weights), ("x", &x)];
    let path = directory.path().join("in.safetensors");
    safetensors::write(path, inputs, &BTreeMap::new()).unwrap();
    directory
}

#[test]
fn inputs_become_outputs() {
    let directory = prepared();
    let (output, _, err) = warpt(
        directory.path(),
        &["affine.mlir", "--inputs", "in.safetensors", "--outputs", "out.safetensors"],
    );
    assert_eq!(output.status.code(), Some(0), "{err}");
    let file = safetensors::File::open(directory.path().join("out.safetensors")).unwrap();
    assert_eq!(file.tensor("y").unwrap(), floats(&[2], &[-1.0, -1.0]));
}

#[test]
fn results_are_a_table_or_json() {
    let directory = prepared();
    let arguments = ["affine.mlir", "--tier", "correctness", "--inputs", "in.safetensors"];
    let (output, out, err) = warpt(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("first elements") && out.contains("2xf32"), "{out}");
    assert!(out.contains("@main: 3 ops in"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");

    let (_, json, _) = warpt(directory.path(), &[&arguments[..], &["--json"]].concat());
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(answer["results"][0]["name"], "y");
    assert_eq!(answer["results"][0]["mean"], -1.0);
    assert_eq!(answer["ops"], 3);
}

#[test]
fn made_up_inputs_are_the_same_each_time() {
    let directory = prepared();
    let run = |seed: &str| {
        let (output, out, err) =
            warpt(directory.path(), &["affine.mlir", "--random-inputs", seed, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{err}");
        let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
        answer["results"].to_string()
    };
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

#[test]
fn a_trace_holds_every_value_and_an_index() {
    let directory = prepared();
    let arguments = ["affine.mlir", "--inputs", "in.safetensors", "--trace", "trace"];
    let (output, _, err) = warpt(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let trace = directory.path().join("trace");
    let index = std::fs::read_to_string(trace.join("index.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        index.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results: Vec<&str> = lines.iter().map(|line| line["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["0", "cst", "1"]);
    assert_eq!((&lines[0]["op"], &lines[0]["line"]), (&"stablehlo.dot_general".into(), &3.into()));
    let product = npy::read(trace.join(lines[0]["file"].as_str().unwrap())).unwrap();
    assert_eq!(product, floats(&[2], &[-2.0, -2.0]));

    let (again, _, err) = warpt(directory.path(), &arguments);
    assert_eq!(again.status.code(), Some(2));
    assert!(err.contains("trace is not empty"), "{err}");
}

#[test]
fn missing_and_misshapen_inputs_say_what_was_expected() {
    let directory = prepared();
    let (output, _, err) = warpt(directory.path(), &["affine.mlir"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("2 inputs are missing"), "{err}");
    assert!(err.contains("weights (arg0): tensor<2x3xf32>"), "{err}");
    assert!(err.contains("--random-inputs"), "{err}");

    let wrong = floats(&[4], &[0.0; 4]);
    let path = directory.path().join("wrong.safetensors");
    safetensors::write(path, [("arg1", &wrong)], &BTreeMap::new()).unwrap();
    let arguments = ["affine.mlir", "--inputs", "wrong.safetensors", "--random-inputs", "0"];
    let (output, _, err) = warpt(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err.contains("\"arg1\" is f32 of shape [4], but input 1 of @main must be a tensor<3xf32>"),
        "{err}"
    );
}

#[test]
fn files_that_are_no_programs_say_so_in_one_line() {
    let directory = prepared();
    for (name, content) in [
        ("photo.png", &b"\x89PNG\r\n\x1a\n\x00\x00"[..]),
        ("module.mlirbc", &b"ML\xefR\x03MLIR18.0.0git\x00"[..]),
        ("script.py", &b"import torch\n"[..]),
        ("empty.mlir", &b""[..]),
    ] {
        std::fs::write(directory.path().join(name), content).unwrap();
        let (output, _, err) = warpt(directory.path(), &[name]);
        assert_eq!(output.status.code(), Some(2), "{name}: {err}");
        assert_eq!(err.lines().count(), 1, "{name}: {err}");
        assert!(err.contains(&format!("{name}: this is not a StableHLO program")), "{name}: {err}");
    }
    let (output, _, err) = warpt(directory.path(), &["nowhere.mlir"]);
    assert_eq!((output.status.code(), err.lines().count()), (Some(2), 1), "{err}");
}

#[test]
fn broken_programs_show_the_place() {
    let directory = prepared();
    let broken = AFFINE.replace("stablehlo.add %0, %cst", "stablehlo.add %0, %nothing");
    std::fs::write(directory.path().join("broken.mlir"), broken).unwrap();
    let (output, _, err) = warpt(directory.path(), &["broken.mlir", "--random-inputs", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("broken.mlir:5:") && err.contains('^'), "{err}");
}

#[test]
fn what_cannot_be_computed_shows_the_place_too() {
    let directory = prepared();
    let call = "%1 = stablehlo.custom_call @kernel(%0) : (tensor<2xf32>) -> tensor<2xf32>";
    let text = AFFINE.replace("%1 = stablehlo.add %0, %cst : tensor<2xf32>", call);
    std::fs::write(directory.path().join("call.mlir"), text).unwrap();
    let (output, _, err) = warpt(directory.path(), &["call.mlir", "--random-inputs", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("call.mlir:5:") && err.contains("custom call @kernel"), "{err}");
    assert!(err.contains('^'), "{err}");
}

#[test]
fn memory_and_tiers_have_limits() {
    let directory = prepared();
    let limited = ["affine.mlir", "--random-inputs", "1", "--max-memory"];
    let arguments = [&limited[..], &["100", "--tier", "correctness"]].concat();
    let (output, _, err) = warpt(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("above the limit of 100 B (--max-memory)"), "{err}");
    assert!(err.contains("stablehlo.dot_general"), "{err}");
    let (output, _, err) = warpt(directory.path(), &[&limited[..], &["1"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("above the limit of 1 B (--max-memory)"), "{err}");

    for (tier, option, other) in
        [("correctness", "--profile", "production"), ("production", "--trace=out", "correctness")]
    {
        let arguments = ["affine.mlir", "--random-inputs", "1", "--tier", tier, option];
        let (output, _, err) = warpt(directory.path(), &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(err.contains(&format!("needs --tier {other}")), "{err}");
    }

    let (output, _, err) = warpt(directory.path(), &["affine.mlir", "--function", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("there is no function @nothing, but @main"), "{err}");
}

#[test]
fn the_observable_tier_sees_into_kernels() {
    let directory = prepared();
    for name in ["observable", "OPTIMIZED_OBSERVABLE"] {
        let arguments = ["affine.mlir", "--inputs", "in.safetensors", "--tier", name];
        let (output, out, err) = warpt(directory.path(), &arguments);
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(out.contains("dot_general") && out.contains("least"), "{out}");
        assert!(out.contains("every value that was looked at is finite"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
    let arguments = ["affine.mlir", "--inputs", "in.safetensors", "--tier", "observable", "--json"];
    let (_, out, _) = warpt(directory.path(), &arguments);
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["tier"], "observable");
    let kernel = &answer["kernels"][0];
    assert!(
        kernel["thread_seconds"].is_array() && kernel["seconds"].as_f64().is_some(),
        "{kernel}"
    );
    assert_eq!(kernel["outputs"][0]["nan_count"], 0);
}

#[test]
fn the_way_to_kernels_can_be_seen() {
    let directory = prepared();
    for (stage, holds) in [
        ("parsed", "func.func public @main"),
        ("normalized", "stablehlo.dot_general"),
        ("fused", "call @kernel_0"),
        ("plan", "hash: "),
    ] {
        let (output, out, err) = warpt(directory.path(), &["affine.mlir", "--dump", stage]);
        assert_eq!(output.status.code(), Some(0), "{stage}: {err}");
        assert!(out.contains(holds), "{stage}: {out}");
    }
}

#[test]
fn the_production_tier_says_where_its_time_went() {
    let directory = prepared();
    let state = directory.path().join("state");
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_warpt"))
            .args(["run", "affine.mlir", "--tier", "production", "--threads", "1"])
            .args(["--inputs", "in.safetensors"])
            .args(more)
            .env("XDG_STATE_HOME", &state)
            .current_dir(directory.path())
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{err}");
        String::from_utf8(output.stdout).unwrap()
    };
    let out = run(&["--profile", "--trace-file", "trace.json", "--roofline", "roofline.svg"]);
    assert!(out.contains("measured now") && out.contains("dot_general"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let trace = std::fs::read(directory.path().join("trace.json")).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(!events.is_empty() && events.iter().all(|event| event["ph"] == "X"));
    let picture = std::fs::read_to_string(directory.path().join("roofline.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    let out = run(&["--profile=kernels"]);
    assert!(out.contains("measured before") && out.contains("FLOP/B"), "{out}");
    assert!(out.lines().any(|line| line.trim_start().starts_with("dot_general")), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let answer: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert!(answer["plan"].as_str().is_some_and(|plan| plan.len() == 16), "{answer}");
}

#[test]
fn several_processes_meet_and_have_names() {
    let directory = prepared();
    let text = r#"func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.multiply %0, %x : tensor<2xf32>
  return %2 : tensor<2xf32>
}
"#;
    std::fs::write(directory.path().join("sum.mlir"), text).unwrap();
    let inputs = [("arg0", &floats(&[2], &[1.0, 2.0])), ("1.0/arg0", &floats(&[2], &[3.0, 4.0]))];
    let path = directory.path().join("ranks.safetensors");
    safetensors::write(path, inputs, &BTreeMap::new()).unwrap();
    let arguments = ["sum.mlir", "--inputs", "ranks.safetensors", "--outputs", "out.safetensors"];
    let two = [&arguments[..], &["--replicas", "2"]].concat();
    let (output, _, err) = warpt(directory.path(), &two);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let file = safetensors::File::open(directory.path().join("out.safetensors")).unwrap();
    assert_eq!(file.tensor("0.0/result0").unwrap(), floats(&[2], &[4.0, 12.0]));
    assert_eq!(file.tensor("1.0/result0").unwrap(), floats(&[2], &[12.0, 24.0]));

    let (output, _, err) = warpt(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("name processes that are none of 1"), "{err}");
}

#[test]
fn a_host_feeds_and_is_fed() {
    let directory = prepared();
    let text = r#"func.func public @main() -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %x, %u = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %y = stablehlo.add %x, %x : tensor<2xf32>
  %v = "stablehlo.outfeed"(%y, %u) <{outfeed_config = ""}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
"#;
    std::fs::write(directory.path().join("feed.mlir"), text).unwrap();
    let path = directory.path().join("feed.safetensors");
    let fed = floats(&[2], &[1.0, 2.0]);
    safetensors::write(&path, [("feed.0.0", &fed)], &BTreeMap::new()).unwrap();
    let arguments = ["feed.mlir", "--infeed", "feed.safetensors", "--outfeed", "out.safetensors"];
    let (output, _, err) = warpt(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let file = safetensors::File::open(directory.path().join("out.safetensors")).unwrap();
    assert_eq!(file.tensor("feed.0.0").unwrap(), floats(&[2], &[2.0, 4.0]));

    safetensors::write(&path, [("feed.1.0", &fed)], &BTreeMap::new()).unwrap();
    let (output, _, err) = warpt(directory.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(err.contains("feed.1 is not counted from 0 without gaps"), "{err}");
}

/// Runs every program in the folder that `WARPT_PROGRAMS` names, with made-up inputs.
#[test]
#[ignore = "needs exported models; run: WARPT_PROGRAMS=FOLDER cargo test --release -p warpt --test run -- --ignored"]
fn exported_models_run() {
    let folder = std::env::var_os("WARPT_PROGRAMS").expect("WARPT_PROGRAMS names a folder");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "mlir") {
            continue;
        }
        let file = path.to_str().unwrap();
        let (output, _, err) = warpt(Path::new("."), &[file, "--random-inputs", "1", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{file}: {err}");
    }
}
