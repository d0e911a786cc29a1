//! Training that goes on from a checkpoint ends with the same bits; steps as one program and in parts agree.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use warpforge_engine::Options;
use warpforge_engine::pool::{Placement, Pool};
use warpforge_golden::Export;
use warpforge_tensor::{DType, Shape, Tensor};
use warpforge_train::{
    Batches, Checkpoints, Named, Schedule, ScheduleKind, TrainError, Trained, Trainer,
    TrainingPlan, train,
};

const SLOPE: &str = "
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2xf32>
    %d = stablehlo.subtract %p, %y : tensor<2xf32>
    %s = stablehlo.multiply %d, %d : tensor<2xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %loss = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %g = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2x4xf32>) -> tensor<4xf32>";
const UPDATE: &str = "
    %half = stablehlo.constant dense<0.5> : tensor<4xf32>
    %mm = stablehlo.multiply %m, %half : tensor<4xf32>
    %m1 = stablehlo.add %mm, %g : tensor<4xf32>
    %r = stablehlo.broadcast_in_dim %lr, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %u = stablehlo.multiply %r, %m1 : tensor<4xf32>
    %w1 = stablehlo.subtract %w, %u : tensor<4xf32>";

/// A line fitted by descent with momentum, as the exporter would write it.
fn export(folder: &Path, whole: bool) -> Export {
    let port = |name: &str, role: &str, shape: &[usize]| json!({"name": name, "role": role, "shape": shape, "dtype": "f32"});
    let program = |name: &str, arguments: &[Value], results: &[Value]| json!({"name": name, "file": format!("{name}.mlir"), "entry": "main", "arguments": arguments, "results": results});
    let weight = port("w", "parameter", &[4]);
    let (x, y) = (port("x", "input", &[2, 4]), port("y", "target", &[2]));
    let moment = port("m", "state", &[4]);
    let rate = port("learning_rate", "hyperparameter", &[]);
    let (loss, slope) = (port("loss", "loss", &[]), port("w", "gradient", &[4]));
    let mut programs = vec![
        program(
            "gradients",
            &[weight.clone(), x.clone(), y.clone()],
            &[loss.clone(), slope.clone()],
        ),
        program(
            "adamw",
            &[weight.clone(), slope, moment.clone(), rate.clone()],
            &[weight.clone(), moment.clone()],
        ),
    ];
    if whole {
        programs.push(program(
            "train-adamw",
            &[weight.clone(), x, y, moment.clone(), rate],
            &[loss, weight, moment],
        ));
    }
    let manifest = json!({
        "format": "warpforge.export",
        "schema_version": 1,
        "model": {"name": "line", "kind": "Line", "parameter_count": 4, "tensors": [
            {"name": "w", "role": "parameter", "shape": [4], "dtype": "f32", "trainable": true}]},
        "programs": programs,
    });
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    let (batch, vector) = ("%x: tensor<2x4xf32>, %y: tensor<2xf32>", "tensor<4xf32>");
    let texts = [
        (
            "gradients",
            format!(
                "func.func public @main(%w: {vector}, {batch}) -> (tensor<f32>, {vector}) {{{SLOPE}\n    return %loss, %g : tensor<f32>, {vector}\n}}"
            ),
        ),
        (
            "adamw",
            format!(
                "func.func public @main(%w: {vector}, %g: {vector}, %m: {vector}, %lr: tensor<f32>) -> ({vector}, {vector}) {{{UPDATE}\n    return %w1, %m1 : {vector}, {vector}\n}}"
            ),
        ),
        (
            "train-adamw",
            format!(
                "func.func public @main(%w: {vector} {{tf.aliasing_output = 1 : i32}}, {batch}, %m: {vector} {{tf.aliasing_output = 2 : i32}}, %lr: tensor<f32>) -> (tensor<f32>, {vector}, {vector}) {{{SLOPE}{UPDATE}\n    return %loss, %w1, %m1 : tensor<f32>, {vector}, {vector}\n}}"
            ),
        ),
    ];
    for (name, text) in texts {
        fs::write(folder.join(format!("{name}.mlir")), text).unwrap();
    }
    Export::open(folder).unwrap()
}

struct Made;

impl Batches for Made {
    fn batch(&self, number: u64) -> Result<Named, TrainError> {
        let wave = |place: u64| ((number * 31 + place * 7) as f64).sin();
        let x: Vec<f64> = (0..8).map(wave).collect();
        let y: Vec<f64> = x.chunks(4).map(|row| row[0] - 2.0 * row[1] + 0.5 * row[3]).collect();
        let tensor = |shape: &[usize], values| {
            Tensor::from_floats(DType::F32, Shape::new(shape).unwrap(), values).unwrap()
        };
        Ok(vec![
            ("input.x".to_owned(), tensor(&[2, 4], x)),
            ("target.y".to_owned(), tensor(&[2], y)),
        ])
    }
}

struct Run<'a> {
    export: &'a Export,
    checkpoints: Checkpoints,
    accumulate: u64,
}

impl Run<'_> {
    /// Trains 12 steps, from the last checkpoint if there is one, and stops after so many.
    fn train(&self, stop: Option<u64>) -> (Result<Trained, TrainError>, Named, Named) {
        let pool = Arc::new(Pool::new(1, &Placement::spread(1)).unwrap());
        let first =
            Tensor::from_floats(DType::F32, Shape::new([4]).unwrap(), vec![0.1; 4]).unwrap();
        let (before, weights, state) = match self.checkpoints.latest().unwrap() {
            Some((state, weights, optimizer)) => (state.loss, weights, Some(optimizer)),
            None => (Vec::new(), vec![("w".to_owned(), first)], None),
        };
        let options = Options::default();
        let mut trainer =
            Trainer::new(self.export, "adamw", &pool, &options, weights, state, self.accumulate)
                .unwrap();
        let schedule =
            Schedule { learning_rate: 0.05, kind: ScheduleKind::Linear, warmup_steps: 2 };
        let plan =
            TrainingPlan { steps: 12, schedule, accumulate: self.accumulate, checkpoint_every: 4 };
        let cancel = AtomicBool::new(false);
        let trained = train(
            &mut trainer,
            &Made,
            &plan,
            before,
            Some(&self.checkpoints),
            Some(&cancel),
            |progress| cancel.store(Some(progress.done) == stop, Ordering::Relaxed),
        );
        (trained, trainer.weights().unwrap(), trainer.state().unwrap())
    }
}

#[test]
fn a_run_that_stopped_ends_with_the_same_bits() {
    let programs = tempfile::tempdir().unwrap();
    let export = export(programs.path(), true);
    for accumulate in [1, 3] {
        let run = |folder: &Path| Run {
            export: &export,
            checkpoints: Checkpoints::new(folder.to_owned(), BTreeMap::new(), 2),
            accumulate,
        };
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let (trained, weights, state) = run(folders[0].path()).train(None);
        let trained = trained.unwrap();
        assert!(trained.loss[11] < 0.7 * trained.loss[0], "{:?}", trained.loss);
        let stopped = run(folders[1].path());
        let (early, ..) = stopped.train(Some(7));
        assert!(matches!(early, Err(TrainError::Cancelled)), "{early:?}");
        let (resumed, own_weights, own_state) = stopped.train(None);
        let resumed = resumed.unwrap();
        assert_eq!((resumed.resumed_at, resumed.seconds.len()), (7, 5));
        assert_eq!(resumed.loss, trained.loss);
        assert_eq!((own_weights, own_state), (weights, state));
    }
}

#[test]
fn a_step_in_one_program_and_in_parts_agree() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let losses: Vec<Vec<f64>> = [true, false]
        .into_iter()
        .zip(&folders)
        .map(|(whole, folder)| {
            let export = export(folder.path(), whole);
            let checkpoints =
                Checkpoints::new(folder.path().join("checkpoints"), BTreeMap::new(), 1);
            Run { export: &export, checkpoints, accumulate: 1 }.train(None).0.unwrap().loss
        })
        .collect();
    for (one, other) in losses[0].iter().zip(&losses[1]) {
        assert!((one - other).abs() <= 1e-5 * one.abs().max(1e-3), "{one} {other}");
    }
}
