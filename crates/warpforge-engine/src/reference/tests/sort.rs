//! Sorting: order, stability, and comparisons that are no order.

use warpforge_hlo::ir::Direction;
use warpforge_tensor::DType;

use super::{Region, drawn, tensor, ty, values};
use crate::reference::sort::sort;

#[test]
fn the_specifications_example() {
    let operands = [
        tensor(DType::I64, &[2, 3], &[1.0, 2.0, 3.0, 3.0, 2.0, 1.0]),
        tensor(DType::I64, &[2, 3], &[3.0, 2.0, 1.0, 1.0, 2.0, 3.0]),
    ];
    let results = [&ty(DType::I64, &[2, 3]), &ty(DType::I64, &[2, 3])];
    for dimension in [0, -2] {
        for mut body in [Region::compares(Direction::Gt), Region::decides(|a| a[0] > a[1])] {
            let found = sort(dimension, &operands, &results, &mut body).unwrap();
            assert_eq!(values(&found[0]), [3.0, 2.0, 3.0, 1.0, 2.0, 1.0]);
            assert_eq!(values(&found[1]), [1.0, 2.0, 1.0, 3.0, 2.0, 3.0]);
        }
    }
}

#[test]
fn equal_elements_keep_their_order() {
    let mut dice = fastrand::Rng::with_seed(8);
    for length in 0..40_usize {
        let keys = drawn(DType::I32, &[length], &mut dice);
        let places: Vec<f64> = (0..length).map(|place| place as f64).collect();
        let operands = [keys.clone(), tensor(DType::I32, &[length], &places)];
        let results = [&ty(DType::I32, &[length]), &ty(DType::I32, &[length])];
        let found = sort(0, &operands, &results, &mut Region::compares(Direction::Lt)).unwrap();
        let keys = values(&keys);
        let mut expected: Vec<usize> = (0..length).collect();
        expected.sort_by_key(|place| keys[*place] as i64);
        let expected: Vec<f64> = expected.into_iter().map(|place| place as f64).collect();
        assert_eq!(values(&found[1]), expected);
    }
}

#[test]
fn no_comparison_is_too_strange() {
    let mut dice = fastrand::Rng::with_seed(9);
    let input = drawn(DType::F32, &[50], &mut dice);
    let result = ty(DType::F32, &[50]);
    let mut flip = false;
    let strange: [Region<'_>; 3] = [
        Region::decides(|_| true),
        Region::decides(|_| false),
        Region::decides(move |_| {
            flip = !flip;
            flip
        }),
    ];
    let mut all = values(&input);
    all.sort_by(f64::total_cmp);
    for mut body in strange {
        let mut found =
            values(&sort(0, std::slice::from_ref(&input), &[&result], &mut body).unwrap()[0]);
        found.sort_by(f64::total_cmp);
        assert_eq!(found, all);
    }
    let mut bad = Region::of(|_| vec![1.0]);
    assert!(sort(0, &[input], &[&result], &mut bad).is_err());
}

#[test]
fn numbers_compare_as_their_types_do() {
    let sorted = |dtype: DType, list: &[f64]| {
        let result = ty(dtype, &[list.len()]);
        let mut body = Region::compares(Direction::Lt);
        values(&sort(0, &[tensor(dtype, &[list.len()], list)], &[&result], &mut body).unwrap()[0])
    };
    assert_eq!(sorted(DType::U64, &[-1.0, 3.0]), [3.0, -1.0]);
    assert_eq!(sorted(DType::I64, &[3.0, -1.0]), [-1.0, 3.0]);
    assert_eq!(sorted(DType::BF16, &[3.0, -1.0, 2.0]), [-1.0, 2.0, 3.0]);
}
