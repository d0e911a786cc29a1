//! Reductions and top_k.

use warpforge_hlo::ir::Binary;
use warpforge_tensor::DType;

use super::{Region, counted, drawn, flat, indices, tensor, ty, values};
use crate::reference::reduction::{reduce, top_k};

#[test]
fn any_dimensions_are_as_defined() {
    let mut dice = fastrand::Rng::with_seed(4);
    for _ in 0..200 {
        let sizes: Vec<usize> = (0..dice.usize(0..5)).map(|_| dice.usize(0..4)).collect();
        let mut reduced: Vec<i64> = (0..sizes.len() as i64).filter(|_| dice.bool()).collect();
        dice.shuffle(&mut reduced);
        let kept: Vec<usize> =
            (0..sizes.len()).filter(|axis| !reduced.contains(&(*axis as i64))).collect();
        let shape: Vec<usize> = kept.iter().map(|axis| sizes[*axis]).collect();
        let input = drawn(DType::I32, &sizes, &mut dice);
        let from = values(&input);
        // 2 s + x does not commute, so the order is seen.
        let expected: Vec<f64> = indices(&shape)
            .into_iter()
            .map(|index| {
                let inside = indices(&sizes).into_iter().filter(|place| {
                    kept.iter().zip(&index).all(|(axis, own)| place[*axis] == *own)
                });
                inside.fold(7.0, |sum, place| (2.0 * sum + from[flat(&place, &sizes)]) % 1000.0)
            })
            .collect();
        let operands = [input.clone(), tensor(DType::I32, &[], &[7.0])];
        let result = ty(DType::I32, &shape);
        let mut body = Region::of(|a| vec![(2.0 * a[0] + a[1]) % 1000.0]);
        let found = reduce(&reduced, &operands, &[&result], &mut body).unwrap();
        assert_eq!(values(&found[0]), expected);
        let quick =
            reduce(&reduced, &operands, &[&result], &mut Region::known(Binary::Add)).unwrap();
        let slow = reduce(&reduced, &operands, &[&result], &mut Region::of(|a| vec![a[0] + a[1]]))
            .unwrap();
        assert_eq!(quick, slow);
    }
}

#[test]
fn sums_are_rounded_once() {
    // In f32 every addition of 1 to 2^24 would be lost.
    let many: Vec<f64> = [16777216.0].into_iter().chain([1.0; 8]).collect();
    let operands = [tensor(DType::F32, &[9], &many), tensor(DType::F32, &[], &[0.0])];
    let found =
        reduce(&[0], &operands, &[&ty(DType::F32, &[])], &mut Region::known(Binary::Add)).unwrap();
    assert_eq!(values(&found[0]), [16777224.0]);
}

#[test]
fn every_known_op_folds_every_kind() {
    let fold = |dtype: DType, op: Binary, init: f64, list: &[f64]| {
        let operands = [tensor(dtype, &[list.len()], list), tensor(dtype, &[], &[init])];
        let result = ty(dtype, &[]);
        values(&reduce(&[0], &operands, &[&result], &mut Region::known(op)).unwrap()[0])[0]
    };
    assert_eq!(fold(DType::I8, Binary::Add, 0.0, &[127.0, 1.0]), -128.0);
    assert_eq!(fold(DType::I8, Binary::Multiply, 1.0, &[100.0, 3.0]), 44.0);
    assert_eq!(fold(DType::I8, Binary::Maximum, -128.0, &[-3.0, -2.0]), -2.0);
    assert_eq!(fold(DType::U8, Binary::Minimum, 255.0, &[200.0, 100.0]), 100.0);
    assert_eq!(fold(DType::I32, Binary::And, -1.0, &[12.0, 10.0]), 8.0);
    assert_eq!(fold(DType::I32, Binary::Or, 0.0, &[12.0, 10.0]), 14.0);
    assert_eq!(fold(DType::I32, Binary::Xor, 0.0, &[12.0, 10.0]), 6.0);
    assert_eq!(fold(DType::I1, Binary::And, 1.0, &[1.0, 0.0]), 0.0);
    assert_eq!(fold(DType::I1, Binary::Add, 0.0, &[1.0, 1.0]), 1.0);
    assert_eq!(fold(DType::F32, Binary::Maximum, f64::NEG_INFINITY, &[1.0, 3.0, 2.0]), 3.0);
    assert_eq!(fold(DType::F32, Binary::Minimum, f64::INFINITY, &[1.0, 3.0, 2.0]), 1.0);
    assert!(fold(DType::F32, Binary::Maximum, 0.0, &[1.0, f64::NAN, 2.0]).is_nan());
    assert!(fold(DType::F32, Binary::Minimum, 0.0, &[f64::NAN, 2.0]).is_nan());
    assert!(fold(DType::F32, Binary::Maximum, -0.0, &[0.0]).is_sign_positive());
    assert!(fold(DType::F32, Binary::Minimum, 0.0, &[-0.0]).is_sign_negative());
    assert_eq!(fold(DType::C64, Binary::Add, 0.0, &[1.0, 2.0]), 3.0);
    // -1 is the largest ui64.
    assert_eq!(fold(DType::U64, Binary::Maximum, 0.0, &[-1.0, 5.0]), -1.0);
}

#[test]
fn several_inputs_and_wider_results() {
    // The largest and where it is.
    let operands = [
        tensor(DType::F32, &[2, 3], &[1.0, 5.0, 5.0, 7.0, 2.0, 9.0]),
        tensor(DType::I32, &[2, 3], &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0]),
        tensor(DType::F32, &[], &[f64::NEG_INFINITY]),
        tensor(DType::I32, &[], &[0.0]),
    ];
    let mut body = Region::of(|a| if a[0] >= a[2] { vec![a[0], a[1]] } else { vec![a[2], a[3]] });
    let results = [&ty(DType::F32, &[2]), &ty(DType::I32, &[2])];
    let found = reduce(&[1], &operands, &results, &mut body).unwrap();
    assert_eq!((values(&found[0]), values(&found[1])), (vec![5.0, 9.0], vec![1.0, 2.0]));
    let operands = [tensor(DType::I8, &[2], &[100.0, 100.0]), tensor(DType::I8, &[], &[0.0])];
    let wide = ty(DType::I32, &[]);
    for mut body in [Region::known(Binary::Add), Region::of(|a| vec![a[0] + a[1]])] {
        assert_eq!(values(&reduce(&[0], &operands, &[&wide], &mut body).unwrap()[0]), [200.0]);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let operands = [counted(DType::F32, &[2, 2]), counted(DType::F32, &[])];
    let (right, wrong) = (ty(DType::F32, &[2]), ty(DType::F32, &[3]));
    let mut body = Region::known(Binary::Add);
    assert!(reduce(&[0], &operands, &[&right], &mut body).is_ok());
    assert!(reduce(&[0], &operands, &[&wrong], &mut body).is_err());
    assert!(reduce(&[2], &operands, &[&right], &mut body).is_err());
    assert!(reduce(&[0], &operands[..1], &[&right], &mut body).is_err());
    assert!(reduce(&[0], &operands, &[&right], &mut Region::of(|_| vec![])).is_err());
}

#[test]
fn top_k_is_in_total_order_and_stable() {
    let row = [2.0, f64::NAN, -0.0, 0.0, 2.0, f64::INFINITY];
    let operand = tensor(DType::F32, &[1, 6], &row);
    let results = [&ty(DType::F32, &[1, 5]), &ty(DType::I32, &[1, 5])];
    let found = top_k(5, true, &operand, &results).unwrap();
    assert_eq!(values(&found[1]), [1.0, 5.0, 0.0, 4.0, 3.0]);
    assert!(values(&found[0])[0].is_nan());
    let smallest = top_k(5, false, &operand, &results).unwrap();
    assert_eq!(values(&smallest[1]), [2.0, 3.0, 0.0, 4.0, 5.0]);
    let bytes = tensor(DType::U8, &[2, 2], &[1.0, 200.0, 3.0, 3.0]);
    let results = [&ty(DType::U8, &[2, 1]), &ty(DType::I32, &[2, 1])];
    let found = top_k(1, true, &bytes, &results).unwrap();
    assert_eq!((values(&found[0]), values(&found[1])), (vec![200.0, 3.0], vec![1.0, 0.0]));
    assert!(top_k(3, true, &bytes, &results).is_err());
}
