//! What `warpt validate` leaves behind, as a user meets it: the page, the record in a file and in the history, rules of tolerance.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use warpforge_tensor::{DType, Tensor, safetensors};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn warpt(directory: &Path, arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(arguments)
        .current_dir(directory)
        .env("XDG_DATA_HOME", directory.join("data"))
        .env_remove("WARPT_HISTORY")
        .env_remove("WARPT_HISTORY_DIRECTORY")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    let err = String::from_utf8(output.stderr.clone()).unwrap();
    (output, out, err)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A copy of a bundle that can be changed.
fn copied(name: &str, to: &Path) {
    for entry in walk(&fixture(name)) {
        let place = to.join(entry.strip_prefix(fixture(name)).unwrap());
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(&entry, place).unwrap();
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Changes the manifest of a bundle, which then states the digests of its files as they are.
fn changed(bundle: &Path, change: impl FnOnce(&mut Value)) {
    let place = bundle.join("manifest.json");
    let mut manifest = json(&std::fs::read_to_string(&place).unwrap());
    change(&mut manifest);
    for (path, entry) in manifest["files"].as_object_mut().unwrap() {
        let file = bundle.join(path);
        entry["sha256"] = warpforge_golden::file_digest(&file).unwrap().into();
        entry["bytes"] = std::fs::metadata(&file).unwrap().len().into();
    }
    std::fs::write(place, manifest.to_string()).unwrap();
}

/// Multiplies a tensor of a file by a factor.
fn scaled(file: &Path, name: &str, factor: f64) {
    let tensors: Vec<(String, Tensor)> = {
        let file = safetensors::File::open(file).unwrap();
        let names: Vec<String> = file.names().map(str::to_owned).collect();
        names.into_iter().map(|name| (name.clone(), file.tensor(&name).unwrap())).collect()
    };
    let tensors: Vec<(String, Tensor)> = tensors
        .into_iter()
        .map(|(known, tensor)| {
            if known != name {
                return (known, tensor);
            }
            let values = tensor.floats().unwrap().into_iter().map(|value| value * factor).collect();
            (known, Tensor::from_floats(DType::F32, tensor.shape().clone(), values).unwrap())
        })
        .collect();
    let all = tensors.iter().map(|(name, tensor)| (name.clone(), tensor));
    safetensors::write(file, all, &std::collections::BTreeMap::new()).unwrap();
}

#[test]
fn a_page_shows_the_verdict_and_names_stay_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    copied("mlp", &folder.join("golden"));
    changed(&folder.join("golden"), |manifest| {
        manifest["model"]["recipe"] = "<img src=x onerror=alert(1)>".into();
    });
    let rules = "[[rule]]\ntensor = \"gradient/up.*\"\nabsolute = 0.0\nreason = \"strict\"\n";
    std::fs::write(folder.join("strict.toml"), rules).unwrap();
    let words = ["validate", "golden", "--html", "page.html", "--tolerances", "strict.toml"];
    let (output, out, err) = warpt(folder, &words);
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(err.contains("page: page.html ("), "{err}");
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("&lt;img src=x") && !page.contains("<img"), "{page}");
    assert_eq!(page.matches("<script").count(), 1);
    for part in [
        "MISMATCH: ",
        "id=\"begins\"",
        "id=\"mismatches\"",
        "id=\"steps\"",
        "id=\"time\"",
        "Golden run",
        "id=\"machine\"",
        "production",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    // Of saved results, and of free runs, which are too few here.
    let (_, _, err) = warpt(folder, &["validate", "golden", "--save-results", "results"]);
    assert!(folder.join("results").exists(), "{err}");
    let words =
        ["validate", "compare", "--golden", "golden", "--results", "results", "--html", "c.html"];
    let (output, out, err) = warpt(folder, &words);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let page = std::fs::read_to_string(folder.join("c.html")).unwrap();
    assert!(page.contains("match: all 51 tensors") && !page.contains("<img"), "{page}");
    let words = ["validate", "golden", "--free-run", "--html", "free.html", "--no-history"];
    let (output, out, err) = warpt(folder, &words);
    assert_eq!(output.status.code(), Some(3), "{out}{err}");
    let page = std::fs::read_to_string(folder.join("free.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("too few"), "{page}");
    assert!(!page.contains("<img"), "{page}");
}

#[test]
fn a_record_is_kept_compared_and_gated() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::os::unix::fs::symlink(fixture("mlp").canonicalize().unwrap(), folder.join("golden"))
        .unwrap();
    let (_, _, err) = warpt(folder, &["validate", "golden", "--no-history"]);
    assert!(!folder.join("data").exists(), "--no-history leaves nothing: {err}");
    let words = ["validate", "golden", "--threads", "1", "--label", "build=7"];
    let (output, out, err) =
        warpt(folder, &[&words[..], &["--redact", "--export-file", "a.json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(err.contains("record: a.json") && err.contains("history: run "), "{err}");
    let record = json(&std::fs::read_to_string(folder.join("a.json")).unwrap());
    let schema = fixture("../../schemas/benchmark-suite-run.v1.json");
    let schema = json(&std::fs::read_to_string(schema).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&record), "{:?}", validator.iter_errors(&record).next());
    let result = &record["benchmarks"][0];
    assert_eq!((&record["suite"], &result["outcome"]), (&"validate".into(), &"passed".into()));
    assert_eq!(record["metadata"]["build"], "7");
    assert_eq!(record["metadata"]["golden"].as_str().unwrap().len(), 64);
    assert_eq!(result["spec"]["params"]["hidden"], 6);
    assert!(result["checks"].as_array().unwrap().iter().any(|check| check["name"] == "gradient"));
    let metric = &result["metrics"][0];
    let id = "validate/mlp/step_time{precision=f32,threads=1,tier=production}";
    assert_eq!((&metric["id"], &metric["verified"]), (&id.into(), &true.into()));
    assert_eq!(metric["samples"]["values"].as_array().unwrap().len(), 2);
    let (_, out, err) = warpt(folder, &["history", "query", "series", "--metric", id, "--csv"]);
    assert_eq!(out.lines().count(), 2, "{out}{err}");
    // The same again, and one that does not match.
    let (_, _, err) = warpt(folder, &[&words[..], &["--export-file", "b.json"]].concat());
    let (_, out, more) = warpt(folder, &["benchmark", "compare", "a.json", "b.json"]);
    assert!(out.contains("step_time"), "{out}{err}{more}");
    let rules = "[[rule]]\ntensor = \"gradient/up.*\"\nabsolute = 0.0\nreason = \"strict\"\n";
    std::fs::write(folder.join("strict.toml"), rules).unwrap();
    let strict = ["--no-search", "--tolerances", "strict.toml", "--export-file", "c.json"];
    let (output, _, err) = warpt(folder, &[&words[..], &strict].concat());
    assert_eq!(output.status.code(), Some(1), "{err}");
    let (output, out, err) = warpt(folder, &["gate", "init", "a.json"]);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    let gate = ["gate", "--no-remeasure", "--baseline", "a.json", "--candidate"];
    let (output, out, err) = warpt(folder, &[&gate[..], &["c.json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(out.contains("validate/mlp"), "{out}");
    let (output, out, err) = warpt(folder, &["report", "c.json", "--format", "junit"]);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("MISMATCH: "), "{out}");
}

#[test]
fn tolerances_are_suggested_from_how_far_golden_runs_lie_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["golden", "other", "seeds", "start"] {
        copied("mlp", &folder.join(name));
    }
    // Another way to sum: one gradient is 1% off at step 0, and what follows starts elsewhere.
    scaled(&folder.join("other/steps/0000/gradients.safetensors"), "up.weight", 1.01);
    scaled(&folder.join("other/steps/0000/weights.safetensors"), "up.weight", 1.5);
    changed(&folder.join("other"), |manifest| manifest["configuration"]["threads"] = 1.into());
    let words = ["validate", "golden", "--suggest-tolerances", "t.toml", "--golden"];
    let (output, out, err) = warpt(folder, &[&words[..], &["other"]].concat());
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    assert!(err.contains("tolerances: t.toml") && out.contains("other: step 0\n"), "{out}{err}");
    let text = std::fs::read_to_string(folder.join("t.toml")).unwrap();
    assert!(text.contains("tensor = \"gradient/up.weight\"\n"), "{text}");
    assert!(text.contains("of_largest = 0.041\n"), "{text}");
    assert!(text.contains("# activation: the preset is wide enough\n"), "{text}");
    assert!(!text.contains("update/") && !text.contains("weight/"), "{text}");
    let words = ["validate", "golden", "--tolerances", "t.toml", "--no-history"];
    let (output, out, err) = warpt(folder, &words);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    // What is not the same training is refused.
    changed(&folder.join("seeds"), |manifest| manifest["seeds"]["weights"] = 7.into());
    scaled(&folder.join("start/initial/weights.safetensors"), "up.weight", 1.01);
    changed(&folder.join("start"), |_| {});
    for (other, reason) in [
        ("golden", "it is the same bundle"),
        ("seeds", "its seeds are 7 and 0, not 0 and 0"),
        ("start", "step 0 starts from other weights (\"up.weight\")"),
        ("none", "cannot read"),
    ] {
        let words = ["validate", "golden", "--suggest-tolerances", "u.toml", "--golden", other];
        let (output, _, err) = warpt(folder, &words);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(reason), "{reason}\n{err}");
    }
    assert!(!folder.join("u.toml").exists());
    let (output, _, err) = warpt(folder, &["validate", "golden", "--suggest-tolerances", "u.toml"]);
    assert_eq!(output.status.code(), Some(2), "{err}");
}
