//! Reductions over windows and their gradients.

use warpforge_hlo::ir::{Binary, Direction, Window};
use warpforge_tensor::DType;

use super::{Region, drawn, flat, indices, tensor, ty, values};
use crate::reference::window::{reduce_window, select_and_scatter};

#[test]
fn the_specifications_examples() {
    let window = Window {
        sizes: vec![2, 1],
        strides: vec![4, 1],
        base_dilations: vec![2, 1],
        dilations: vec![3, 1],
        padding: vec![(2, 1), (0, 0)],
    };
    let operands = [
        tensor(DType::I64, &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        tensor(DType::I64, &[], &[0.0]),
    ];
    let result = ty(DType::I64, &[2, 2]);
    for mut body in [Region::known(Binary::Add), Region::of(|a| vec![a[0] + a[1]])] {
        let found = reduce_window(&window, &operands, &[&result], &mut body).unwrap();
        assert_eq!(values(&found[0]), [0.0, 0.0, 3.0, 4.0]);
    }
    let window = Window {
        sizes: vec![3, 1],
        strides: vec![2, 1],
        padding: vec![(0, 1), (0, 0)],
        ..Window::default()
    };
    let operand = tensor(DType::I64, &[4, 2], &[1.0, 5.0, 2.0, 5.0, 3.0, 6.0, 4.0, 4.0]);
    let source = tensor(DType::I64, &[2, 2], &[5.0, 6.0, 7.0, 8.0]);
    let init = tensor(DType::I64, &[], &[0.0]);
    for (mut select, mut scatter) in [
        (Region::compares(Direction::Ge), Region::known(Binary::Add)),
        (Region::decides(|a| a[0] >= a[1]), Region::of(|a| vec![a[0] + a[1]])),
    ] {
        let to = ty(DType::I64, &[4, 2]);
        let found =
            select_and_scatter(&window, &operand, &source, &init, &to, &mut select, &mut scatter);
        assert_eq!(values(&found.unwrap()), [0.0, 0.0, 0.0, 0.0, 5.0, 14.0, 7.0, 0.0]);
    }
}

/// A window with random numbers, for a shape, and how many positions it has; none where padding takes too much.
fn random_window(sizes: &[usize], dice: &mut fastrand::Rng) -> Option<(Window, Vec<usize>)> {
    let mut list = |range: std::ops::Range<i64>| -> Vec<i64> {
        sizes.iter().map(|_| dice.i64(range.clone())).collect()
    };
    let window = Window {
        sizes: list(1..5),
        strides: list(1..4),
        base_dilations: list(1..4),
        dilations: list(1..3),
        padding: list(-2..4).into_iter().zip(list(-2..4)).collect(),
    };
    let outputs = sizes.iter().enumerate().map(|(axis, size)| {
        let (low, high) = window.padding[axis];
        let dilated =
            if *size == 0 { 0 } else { (*size as i64 - 1) * window.base_dilations[axis] + 1 };
        let padded = dilated + low + high;
        let reach = (window.sizes[axis] - 1) * window.dilations[axis] + 1;
        if padded < 0 {
            return None;
        }
        Some(if reach > padded {
            0
        } else {
            ((padded - reach) / window.strides[axis] + 1) as usize
        })
    });
    let outputs = outputs.collect::<Option<_>>()?;
    Some((window, outputs))
}

#[test]
fn any_window_is_as_defined() {
    let mut dice = fastrand::Rng::with_seed(5);
    for _ in 0..300 {
        let sizes: Vec<usize> = (0..dice.usize(0..4)).map(|_| dice.usize(0..6)).collect();
        let Some((window, outputs)) = random_window(&sizes, &mut dice) else { continue };
        let input = drawn(DType::F32, &sizes, &mut dice);
        let from = values(&input);
        // The padded, dilated input is read position by position; what holds nothing is left out.
        let expected: Vec<f64> = indices(&outputs)
            .into_iter()
            .map(|output| {
                let taps: Vec<usize> = window.sizes.iter().map(|size| *size as usize).collect();
                let mut sum = 100.0;
                'taps: for tap in indices(&taps) {
                    let mut index = vec![];
                    for axis in 0..sizes.len() {
                        let position = output[axis] as i64 * window.strides[axis]
                            + tap[axis] as i64 * window.dilations[axis]
                            - window.padding[axis].0;
                        let dilation = window.base_dilations[axis];
                        if position < 0
                            || position % dilation != 0
                            || position / dilation >= sizes[axis] as i64
                        {
                            continue 'taps;
                        }
                        index.push((position / dilation) as usize);
                    }
                    sum += from[flat(&index, &sizes)];
                }
                sum
            })
            .collect();
        let operands = [input, tensor(DType::F32, &[], &[100.0])];
        let result = ty(DType::F32, &outputs);
        for mut body in [Region::known(Binary::Add), Region::of(|a| vec![a[0] + a[1]])] {
            let found = reduce_window(&window, &operands, &[&result], &mut body).unwrap();
            assert_eq!(values(&found[0]), expected, "{window:?}");
        }
    }
}

#[test]
fn several_inputs_are_folded_together() {
    let window = Window { sizes: vec![2], ..Window::default() };
    let operands = [
        tensor(DType::F32, &[3], &[1.0, 3.0, 2.0]),
        tensor(DType::I32, &[3], &[0.0, 1.0, 2.0]),
        tensor(DType::F32, &[], &[f64::NEG_INFINITY]),
        tensor(DType::I32, &[], &[-1.0]),
    ];
    let mut body = Region::of(|a| if a[0] >= a[2] { vec![a[0], a[1]] } else { vec![a[2], a[3]] });
    let results = [&ty(DType::F32, &[2]), &ty(DType::I32, &[2])];
    let found = reduce_window(&window, &operands, &results, &mut body).unwrap();
    assert_eq!((values(&found[0]), values(&found[1])), (vec![3.0, 3.0], vec![1.0, 1.0]));
}

#[test]
fn a_running_sum_over_a_window_as_large_as_the_tensor() {
    let window = Window { sizes: vec![5], padding: vec![(4, 0)], ..Window::default() };
    let operands =
        [tensor(DType::I32, &[5], &[1.0, 2.0, 3.0, 4.0, 5.0]), tensor(DType::I32, &[], &[0.0])];
    let result = ty(DType::I32, &[5]);
    let found =
        reduce_window(&window, &operands, &[&result], &mut Region::known(Binary::Add)).unwrap();
    assert_eq!(values(&found[0]), [1.0, 3.0, 6.0, 10.0, 15.0]);
    // A window of 2^40 is no more work than the tensor.
    let window = Window { sizes: vec![1 << 40], padding: vec![(1 << 40, 0)], ..Window::default() };
    let found = reduce_window(
        &window,
        &operands,
        &[&ty(DType::I32, &[6])],
        &mut Region::known(Binary::Add),
    )
    .unwrap();
    assert_eq!(values(&found[0]), [0.0, 1.0, 3.0, 6.0, 10.0, 15.0]);
    assert!(
        reduce_window(
            &window,
            &operands,
            &[&ty(DType::I32, &[7])],
            &mut Region::known(Binary::Add)
        )
        .is_err()
    );
}

#[test]
fn a_selection_takes_the_first_of_equals_and_skips_padding() {
    let window =
        Window { sizes: vec![2], strides: vec![2], padding: vec![(2, 0)], ..Window::default() };
    let operand = tensor(DType::F32, &[4], &[1.0, 1.0, 0.0, 2.0]);
    // The first window lies wholly in padding.
    let source = tensor(DType::F32, &[3], &[10.0, 20.0, 30.0]);
    let init = tensor(DType::F32, &[], &[0.5]);
    let mut select = Region::compares(Direction::Ge);
    let mut scatter = Region::known(Binary::Add);
    let to = ty(DType::F32, &[4]);
    let found =
        select_and_scatter(&window, &operand, &source, &init, &to, &mut select, &mut scatter)
            .unwrap();
    assert_eq!(values(&found), [20.5, 0.5, 0.5, 30.5]);
}
