//! Normalization over a batch.

use warpforge_tensor::DType;

use super::{close, tensor, ty, values};
use crate::reference::normalization::{batch_norm_grad, batch_norm_inference, batch_norm_training};

const OPERAND: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 3.0, 4.0, 1.0, 2.0];

#[test]
fn the_specifications_examples() {
    let operand = tensor(DType::F64, &[2, 2, 2], &OPERAND);
    let vector = |values: [f64; 2]| tensor(DType::F64, &[2], &values);
    let (cube, line) = (ty(DType::F64, &[2, 2, 2]), ty(DType::F64, &[2]));
    let operands =
        [operand.clone(), vector([1.0; 2]), vector([1.0; 2]), vector([2.0, 3.0]), vector([1.0; 2])];
    let expected = [0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0];
    let found = batch_norm_inference(0.0, 2, &operands, &cube).unwrap();
    assert_eq!(values(&found), expected);
    let found = batch_norm_training(0.0, 2, &operands[..3], &[&cube, &line, &line]).unwrap();
    assert_eq!(
        found.iter().flat_map(values).collect::<Vec<_>>(),
        [&expected[..], &[2.0, 3.0, 1.0, 1.0]].concat()
    );
    let gradient = tensor(DType::F64, &[2, 2, 2], &[0.1; 8]);
    let operands = [operand, vector([1.0; 2]), vector([2.0, 3.0]), vector([1.0; 2]), gradient];
    let found = batch_norm_grad(0.0, 2, &operands, &[&cube, &line, &line]).unwrap();
    let all: Vec<f64> = found.iter().flat_map(values).collect();
    close(&all, &[&[0.0; 10][..], &[0.4, 0.4]].concat(), 1e-15);
}

#[test]
fn the_gradient_is_that_of_the_training_form() {
    let dice = &mut fastrand::Rng::with_seed(15);
    let mut draw = |count: usize| (0..count).map(|_| dice.f64() * 2.0 - 1.0).collect::<Vec<f64>>();
    let (sizes, features) = ([3, 2, 4], 2);
    let (operand, scale, offset, weight) = (draw(24), draw(2), draw(2), draw(24));
    let (cube, line) = (ty(DType::F64, &sizes), ty(DType::F64, &[features]));
    let results = [&cube, &line, &line];
    let epsilon = 0.125;
    let vector = |values: &[f64]| tensor(DType::F64, &[features], values);
    // The loss: a weighted sum of the output.
    let train = |operand: &[f64], scale: &[f64], offset: &[f64]| {
        let operands = [tensor(DType::F64, &sizes, operand), vector(scale), vector(offset)];
        batch_norm_training(epsilon, 1, &operands, &results).unwrap()
    };
    let loss = |operand: &[f64], scale: &[f64], offset: &[f64]| -> f64 {
        values(&train(operand, scale, offset)[0]).iter().zip(&weight).map(|(a, b)| a * b).sum()
    };
    let trained = train(&operand, &scale, &offset);
    let operands = [
        tensor(DType::F64, &sizes, &operand),
        vector(&scale),
        trained[1].clone(),
        trained[2].clone(),
        tensor(DType::F64, &sizes, &weight),
    ];
    let found = batch_norm_grad(epsilon, 1, &operands, &results).unwrap();
    let step = 1e-5;
    let slope = |place: usize, which: usize| {
        let at = |by: f64| {
            let mut all = [operand.clone(), scale.clone(), offset.clone()];
            all[which][place] += by;
            loss(&all[0], &all[1], &all[2])
        };
        (at(step) - at(-step)) / (2.0 * step)
    };
    for (which, count) in [24, 2, 2].into_iter().enumerate() {
        let expected: Vec<f64> = (0..count).map(|place| slope(place, which)).collect();
        close(&values(&found[which]), &expected, 1e-8);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let operand = tensor(DType::F32, &[2, 2], &[0.0; 4]);
    let vector = tensor(DType::F32, &[3], &[0.0; 3]);
    let to = ty(DType::F32, &[2, 2]);
    let operands = [operand, vector.clone(), vector.clone(), vector.clone(), vector];
    assert!(batch_norm_inference(0.0, 1, &operands, &to).is_err());
    assert!(batch_norm_inference(0.0, 2, &operands, &to).is_err());
    assert!(batch_norm_training(0.0, 1, &operands, &[&to]).is_err());
}
