//! Bundles that someone damaged or forged: each is refused with a message that names the file and what is wrong with it.
//!
//! All start from the committed bundle. Where a digest would give the damage away, it is made to match again.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use warpforge_golden::Bundle;

const WEIGHTS: &str = "steps/0000/weights.safetensors";

/// A copy of the committed bundle that may be damaged.
struct Copy(tempfile::TempDir);

impl Copy {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/mlp");
        copy(&fixture, folder.path());
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Changes the manifest.
    fn manifest(&self, change: impl FnOnce(&mut Value)) {
        let path = self.path("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut manifest);
        fs::write(&path, manifest.to_string()).unwrap();
    }

    /// Writes a file and makes its digest match.
    fn forge(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).unwrap();
        let sha256: String =
            Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        self.manifest(|manifest| {
            manifest["files"][name] = json!({ "bytes": content.len(), "sha256": sha256 });
        });
    }

    /// Writes a file of tensors with this header and its digest.
    fn forge_tensors(&self, name: &str, header: &str, data: &[u8]) {
        let mut content = (header.len() as u64).to_le_bytes().to_vec();
        content.extend(header.as_bytes());
        content.extend(data);
        self.forge(name, &content);
    }

    /// The header of a file of tensors and its data.
    fn parts(&self, name: &str) -> (Value, Vec<u8>) {
        let content = fs::read(self.path(name)).unwrap();
        let size = u64::from_le_bytes(content[..8].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&content[8..8 + size]).unwrap();
        (header, content[8 + size..].to_vec())
    }

    /// What opening it is answered with.
    fn answer(&self) -> String {
        Bundle::open(self.0.path()).expect_err("it was damaged").to_string()
    }

    #[track_caller]
    fn refused(&self, expected: &str) {
        let answer = self.answer();
        assert!(answer.contains(expected), "{answer}\nexpected: {expected}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn the_bundle_itself_opens() {
    let copy = Copy::new();
    let bundle = Bundle::open(copy.0.path()).unwrap();
    let manifest = bundle.manifest();
    assert_eq!(manifest.model.recipe, "mlp");
    assert_eq!(manifest.steps.len(), 2);
    let weights = bundle.tensors(&manifest.steps[0].before.weights).unwrap();
    assert_eq!(weights.mapped("up.bias").unwrap().shape().sizes(), [6]);
    assert_eq!(bundle.loss_curve().loss.len(), 2);
    assert!(bundle.metrics().metrics.contains_key("accuracy"));
}

#[test]
fn its_manifest_keeps_the_schema() {
    let schema =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/golden.v1.json"))
            .unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let copy = Copy::new();
    let read = || -> Value {
        serde_json::from_slice(&fs::read(copy.path("manifest.json")).unwrap()).unwrap()
    };
    let errors: Vec<String> =
        validator.iter_errors(&read()).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    copy.manifest(|manifest| manifest["programs"] = json!("../programs/manifest.json"));
    assert!(!validator.is_valid(&read()), "the schema lets a path out of the bundle");
}

#[test]
fn a_directory_that_is_no_bundle() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| Bundle::open(path).unwrap_err().to_string();
    assert!(open(folder.path()).contains("is not a golden bundle, or one that was not finished"));
    assert!(open(&folder.path().join("none")).contains("cannot read"));
    fs::create_dir(folder.path().join("manifest.json")).unwrap();
    assert!(open(folder.path()).contains("is not a plain file"));
}

#[test]
fn a_manifest_that_is_cut_or_of_another_kind() {
    let copy = Copy::new();
    let whole = fs::read(copy.path("manifest.json")).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 3] {
        fs::write(copy.path("manifest.json"), &whole[..length]).unwrap();
        copy.refused("manifest.json");
    }
    fs::write(copy.path("manifest.json"), [0xff, 0xfe]).unwrap();
    copy.refused("cannot read");
    fs::write(copy.path("manifest.json"), "[".repeat(100_000)).unwrap();
    copy.refused("manifest.json");
    let copy = Copy::new();
    copy.manifest(|manifest| manifest["schema_version"] = json!(2));
    copy.refused("version 2 of the format cannot be read, only 1");
    let copy = Copy::new();
    copy.manifest(|manifest| manifest["format"] = json!("warpforge.export"));
    copy.refused("its format is \"warpforge.export\", expected \"warpforge.golden\"");
    let copy = Copy::new();
    copy.manifest(|manifest| {
        manifest.as_object_mut().unwrap().remove("seeds");
    });
    copy.refused("missing field `seeds`");
    let copy = Copy::new();
    copy.manifest(|manifest| manifest["steps"][0]["ranks"] = json!([]));
    copy.refused("step 0 has 0 ranks, the configuration 1");
}

#[test]
fn a_truncated_file() {
    let copy = Copy::new();
    let whole = fs::read(copy.path(WEIGHTS)).unwrap();
    fs::write(copy.path(WEIGHTS), &whole[..whole.len() - 4]).unwrap();
    copy.refused("bytes, but the manifest says");
    copy.forge(WEIGHTS, &whole[..whole.len() - 4]);
    copy.refused("but the file has only");
    copy.forge(WEIGHTS, &whole[..5]);
    copy.refused("5 bytes are too few for a header");
    copy.forge(WEIGHTS, b"");
    copy.refused("too few for a header");
    fs::remove_file(copy.path(WEIGHTS)).unwrap();
    copy.refused("No such file");
}

#[test]
fn a_wrong_digest() {
    let copy = Copy::new();
    let mut content = fs::read(copy.path(WEIGHTS)).unwrap();
    let last = content.len() - 1;
    content[last] ^= 1;
    fs::write(copy.path(WEIGHTS), &content).unwrap();
    copy.refused("its SHA-256 is");
    let copy = Copy::new();
    let mut text = fs::read(copy.path("programs/gradients.mlir")).unwrap();
    text.push(b'\n');
    fs::write(copy.path("programs/gradients.mlir"), &text).unwrap();
    copy.refused("programs/gradients.mlir: has");
}

#[test]
fn overlapping_tensors() {
    let copy = Copy::new();
    let (mut header, data) = copy.parts(WEIGHTS);
    header["up.bias"]["data_offsets"] = header["down.weight"]["data_offsets"].clone();
    header["up.bias"]["shape"] = header["down.weight"]["shape"].clone();
    copy.forge_tensors(WEIGHTS, &header.to_string(), &data);
    copy.refused("overlaps the tensor before it");
}

#[test]
fn a_shape_that_overflows() {
    let copy = Copy::new();
    let (mut header, data) = copy.parts(WEIGHTS);
    header["up.bias"]["shape"] = json!([1_u64 << 62, 1_u64 << 62]);
    copy.forge_tensors(WEIGHTS, &header.to_string(), &data);
    copy.refused("more elements than can be counted");
}

#[test]
fn a_huge_header() {
    let copy = Copy::new();
    let mut content = u64::MAX.to_le_bytes().to_vec();
    content.extend([b' '; 100]);
    copy.forge(WEIGHTS, &content);
    copy.refused("above the limit of 100000000");
    let mut content = 99_999_999_u64.to_le_bytes().to_vec();
    content.extend([b' '; 100]);
    copy.forge(WEIGHTS, &content);
    copy.refused("but the file has only 108");
}

#[test]
fn extra_and_missing_tensors() {
    let copy = Copy::new();
    let (mut header, mut data) = copy.parts(WEIGHTS);
    let end = data.len();
    header["stowaway"] = json!({ "dtype": "F32", "shape": [1], "data_offsets": [end, end + 4] });
    data.extend([0; 4]);
    copy.forge_tensors(WEIGHTS, &header.to_string(), &data);
    copy.refused("the tensor \"stowaway\" does not belong there");
    let copy = Copy::new();
    let (mut header, data) = copy.parts(WEIGHTS);
    let known = header.as_object_mut().unwrap().remove("up.bias").unwrap();
    header["up.bios"] = known;
    copy.forge_tensors(WEIGHTS, &header.to_string(), &data);
    copy.refused("the tensor \"up.bias\" is missing");
    let copy = Copy::new();
    let (mut header, data) = copy.parts(WEIGHTS);
    header["up.bias"]["shape"] = json!([2, 3]);
    copy.forge_tensors(WEIGHTS, &header.to_string(), &data);
    copy.refused("\"up.bias\" is f32 of shape [2, 3], expected f32 of shape [6]");
    let copy = Copy::new();
    let (mut header, data) = copy.parts(WEIGHTS);
    header["up.bias"]["dtype"] = json!("I32");
    copy.forge_tensors(WEIGHTS, &header.to_string(), &data);
    copy.refused("\"up.bias\" is i32 of shape [6], expected f32");
}

#[test]
fn paths_out_of_the_bundle() {
    let outside = tempfile::tempdir().unwrap();
    for path in ["../secret", "/etc/passwd", "steps/../../secret", "a//b", ""] {
        let copy = Copy::new();
        copy.manifest(|manifest| manifest["loss_curve"] = json!(path));
        copy.refused("does not name a file inside of the bundle");
        let copy = Copy::new();
        copy.manifest(|manifest| manifest["files"][path] = json!({ "bytes": 1, "sha256": "" }));
        copy.refused("does not name a file inside of the bundle");
    }
    // Through a link that a plain name leads to, of the file or of its folder.
    let copy = Copy::new();
    fs::rename(copy.path(WEIGHTS), outside.path().join("weights")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("weights"), copy.path(WEIGHTS)).unwrap();
    copy.refused("is a symbolic link");
    let copy = Copy::new();
    fs::rename(copy.path("steps"), outside.path().join("steps")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("steps"), copy.path("steps")).unwrap();
    copy.refused("is a symbolic link");
    let copy = Copy::new();
    let text = fs::read_to_string(copy.path("programs/manifest.json")).unwrap();
    let escaping = text.replace("\"forward.mlir\"", "\"../../forward.mlir\"");
    copy.forge("programs/manifest.json", escaping.as_bytes());
    copy.refused("does not name a file inside of the bundle");
}

#[test]
fn files_without_a_digest() {
    let copy = Copy::new();
    copy.manifest(|manifest| {
        manifest["files"].as_object_mut().unwrap().remove(WEIGHTS);
    });
    copy.refused("the manifest names this file but has no digest of it");
    let copy = Copy::new();
    copy.manifest(|manifest| {
        manifest["files"].as_object_mut().unwrap().remove("programs/forward.mlir");
    });
    copy.refused("forward.mlir: the manifest names this file but has no digest of it");
}

#[test]
fn a_loss_curve_of_another_length() {
    let copy = Copy::new();
    copy.forge(
        "loss_curve.json",
        b"{\"loss\":[1.0],\"ranks\":[[1.0]],\"learning_rate\":[1.0],\"seconds\":[1.0]}",
    );
    copy.refused("does not have 2 steps of 1 ranks");
}

#[test]
fn any_flipped_byte_of_the_manifest_is_an_answer() {
    let copy = Copy::new();
    let whole = fs::read(copy.path("manifest.json")).unwrap();
    for place in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        fs::write(copy.path("manifest.json"), &damaged).unwrap();
        // Whether it is refused depends on the byte: a remark may be anything. It must not panic.
        let _ = Bundle::open(copy.0.path());
    }
}
