//! Reorders, softmax, layer normalization, pooling, element-wise work and reductions against their definitions.

use crate::support::*;
use std::sync::Arc;
use warpforge_onednn::{
    Argument, BinaryKind, DataType, Eltwise, LayerNormalization, MemoryDesc, PoolingKind,
    PoolingShape, ReductionKind, binary, eltwise_forward, layer_normalization_forward,
    log_softmax_forward, matmul, pooling_backward, pooling_forward, reduction, softmax_forward,
};

fn row_major(data_type: DataType, dims: &[usize]) -> MemoryDesc {
    MemoryDesc::row_major(data_type, dims).unwrap()
}

fn f32(dims: &[usize]) -> MemoryDesc {
    row_major(DataType::F32, dims)
}

fn numbers(seed: u64, count: usize) -> Vec<f64> {
    random(&mut fastrand::Rng::with_seed(seed), DataType::F32, count)
}

#[test]
fn reorder_there_and_back() {
    let plain = f32(&[19, 37]);
    let transposed = MemoryDesc::strided(DataType::F32, &[19, 37], &[1, 19]).unwrap();
    let x = numbers(1, 19 * 37);
    let mut there = packed(&plain, &mut place(&plain, &x), &transposed);
    assert_eq!(values(&transposed, &there), x);
    let back = packed(&transposed, &mut there, &plain);
    assert_eq!(values(&plain, &back), x);
    // The layout that a product chooses for its weights, whatever it is.
    let any = MemoryDesc::any(DataType::F32, &[19, 37]).unwrap();
    let product = matmul(&f32(&[64, 19]), &any, None, &f32(&[64, 37]), &attributes()).unwrap();
    let chosen = product.descriptor(Argument::Weights).unwrap();
    let mut there = packed(&plain, &mut place(&plain, &x), &chosen);
    assert_eq!(values(&plain, &packed(&chosen, &mut there, &plain)), x);
}

#[test]
fn reorder_converts() {
    let (from, to) = (f32(&[5]), row_major(DataType::Bf16, &[5]));
    let x = [1.0, 1.00390625, -3.5, 0.1, 1e30];
    let result = packed(&from, &mut place(&from, &x), &to);
    let expected: Vec<f64> = x.iter().map(|x| rounded(DataType::Bf16, *x)).collect();
    assert_eq!(values(&to, &result), expected);
    let to = row_major(DataType::S8, &[5]);
    let result = packed(&from, &mut place(&from, &[1.5, 2.5, -3.4, 200.0, -1000.0]), &to);
    assert_eq!(values(&to, &result), [2.0, 2.0, -3.0, 127.0, -128.0]);
}

#[test]
fn part_of_a_tensor() {
    let whole = f32(&[4, 6]);
    let part = whole.submemory(&[2, 3], &[1, 2]).unwrap();
    let target = f32(&[2, 3]);
    let x: Vec<f64> = (0..24).map(f64::from).collect();
    assert_eq!(part.is_strided(), None, "a part has an offset");
    assert_eq!((part.bytes(), format!("{part:?}").as_str()), (17 * 4, "f32[2, 3]{6, 1 at 8}"));
    let result = packed(&part, &mut place(&whole, &x), &target);
    assert_eq!(values(&target, &result), [8.0, 9.0, 10.0, 14.0, 15.0, 16.0]);
    assert!(whole.submemory(&[2, 3], &[3, 2]).is_err());
    assert!(whole.submemory(&[2], &[0]).is_err());
}

#[test]
fn dimensions_are_reordered_and_reshaped() {
    let desc = f32(&[4, 6]);
    let permuted = desc.permuted(&[1, 0]).unwrap();
    assert_eq!((permuted.dims(), permuted.is_strided()), (&[6, 4][..], Some(vec![1, 6])));
    assert_eq!(desc.reshaped(&[2, 2, 6]).unwrap().is_strided(), Some(vec![12, 6, 1]));
    assert!(desc.permuted(&[0, 0]).is_err());
    assert!(desc.permuted(&[0, 2]).is_err());
    assert!(permuted.reshaped(&[24]).is_err());
}

#[test]
fn softmax() {
    let (rows, columns) = (5, 33);
    let desc = f32(&[rows, columns]);
    let x: Vec<f64> = numbers(2, rows * columns).iter().map(|x| x * 10.0).collect();
    let x: Vec<f64> = x.into_iter().map(|x| rounded(DataType::F32, x)).collect();
    for logarithm in [false, true] {
        let make = if logarithm { log_softmax_forward } else { softmax_forward };
        let primitive = Arc::new(make(&desc, &desc, 1, &attributes()).unwrap());
        let mut result = Buffer::new(desc.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, desc.clone(), &mut place(&desc, &x)),
                (Argument::Dst, desc.clone(), &mut result),
            ],
        );
        let mut expected = Vec::new();
        for row in x.chunks(columns) {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            expected
                .extend(row.iter().map(|x| if logarithm { x - sum.ln() } else { x.exp() / sum }));
        }
        assert_close(&values(&desc, &result), &expected, 2e-6, &format!("{primitive:?}"));
    }
    assert!(softmax_forward(&desc, &desc, 2, &attributes()).is_err());
}

#[test]
fn layer_normalization() {
    let (rows, columns) = (6, 40);
    let (desc, scale) = (f32(&[rows, columns]), f32(&[columns]));
    let statistics = f32(&[rows]);
    let what = LayerNormalization {
        epsilon: 1e-5,
        scale: Some(DataType::F32),
        shift: Some(DataType::F32),
        statistics: true,
    };
    let x = numbers(3, rows * columns);
    let (factors, summands) = (numbers(4, columns), numbers(5, columns));
    for with_statistics in [true, false] {
        let what = LayerNormalization { statistics: with_statistics, ..what };
        let primitive = Arc::new(
            layer_normalization_forward(&desc, &desc, Some(&statistics), what, &attributes())
                .unwrap(),
        );
        let mut result = Buffer::new(desc.bytes());
        let (mut mean, mut variance) =
            (Buffer::new(statistics.bytes()), Buffer::new(statistics.bytes()));
        let (mut source, mut scale_buffer, mut shift_buffer) =
            (place(&desc, &x), place(&scale, &factors), place(&scale, &summands));
        let mut operands = vec![
            (Argument::Src, desc.clone(), &mut source),
            (Argument::Scale, scale.clone(), &mut scale_buffer),
            (Argument::Shift, scale.clone(), &mut shift_buffer),
            (Argument::Dst, desc.clone(), &mut result),
        ];
        if with_statistics {
            operands.push((Argument::Mean, statistics.clone(), &mut mean));
            operands.push((Argument::Variance, statistics.clone(), &mut variance));
        }
        run(&primitive, &mut operands);
        let (mut expected, mut means) = (Vec::new(), Vec::new());
        for row in x.chunks(columns) {
            let mean = row.iter().sum::<f64>() / columns as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
            means.push(mean);
            expected.extend(row.iter().enumerate().map(|(column, x)| {
                (x - mean) / (variance + 1e-5).sqrt() * factors[column] + summands[column]
            }));
        }
        assert_close(&values(&desc, &result), &expected, 2e-6, &format!("{primitive:?}"));
        if with_statistics {
            assert_close(&values(&statistics, &mean), &means, 2e-6, "mean");
        }
    }
    let mixed = LayerNormalization { shift: Some(DataType::Bf16), ..what };
    assert!(layer_normalization_forward(&desc, &desc, None, mixed, &attributes()).is_err());
}

#[test]
fn pooling_and_its_gradient() {
    let (src, dst) = (f32(&[2, 3, 7, 7]), f32(&[2, 3, 4, 4]));
    let shape = PoolingShape {
        kernel: vec![3, 3],
        strides: vec![2, 2],
        dilations: vec![1, 1],
        padding_low: vec![1, 1],
        padding_high: vec![1, 1],
    };
    let x = numbers(6, 2 * 3 * 49);
    let g = numbers(7, 2 * 3 * 16);
    for kind in [PoolingKind::Max, PoolingKind::MeanWithPadding, PoolingKind::MeanWithoutPadding] {
        let primitive =
            Arc::new(pooling_forward(kind, &src, &dst, &shape, true, &attributes()).unwrap());
        let workspace = primitive.descriptor(Argument::Workspace);
        assert_eq!(workspace.is_some(), kind == PoolingKind::Max);
        let mut kept = Buffer::new(workspace.as_ref().map_or(0, MemoryDesc::bytes));
        let (mut result, mut source) = (Buffer::new(dst.bytes()), place(&src, &x));
        let mut operands = vec![
            (Argument::Src, src.clone(), &mut source),
            (Argument::Dst, dst.clone(), &mut result),
        ];
        if let Some(workspace) = &workspace {
            operands.push((Argument::Workspace, workspace.clone(), &mut kept));
        }
        run(&primitive, &mut operands);
        let (mut expected, mut gradient) = (Vec::new(), vec![0.0; x.len()]);
        for index in indices(dst.dims()) {
            let mut inside = Vec::new();
            for window in indices(&[3, 3]) {
                let row = (index[2] * 2 + window[0]).wrapping_sub(1);
                let column = (index[3] * 2 + window[1]).wrapping_sub(1);
                if row < 7 && column < 7 {
                    inside.push((index[0] * 3 + index[1]) * 49 + row * 7 + column);
                }
            }
            let incoming = g[expected.len()];
            match kind {
                PoolingKind::Max => {
                    let greatest = *inside.iter().max_by(|a, b| x[**a].total_cmp(&x[**b])).unwrap();
                    expected.push(x[greatest]);
                    gradient[greatest] += incoming;
                }
                _ => {
                    let count = if kind == PoolingKind::MeanWithPadding { 9 } else { inside.len() };
                    expected.push(inside.iter().map(|at| x[*at]).sum::<f64>() / count as f64);
                    for at in inside {
                        gradient[at] += incoming / count as f64;
                    }
                }
            }
        }
        assert_close(&values(&dst, &result), &expected, 2e-6, &format!("{primitive:?}"));
        let backward = Arc::new(pooling_backward(kind, &src, &dst, &shape, &attributes()).unwrap());
        let (mut result, mut incoming) = (Buffer::new(src.bytes()), place(&dst, &g));
        let mut operands = vec![
            (Argument::DiffDst, dst.clone(), &mut incoming),
            (Argument::DiffSrc, src.clone(), &mut result),
        ];
        if let Some(workspace) = &workspace {
            operands.push((Argument::Workspace, workspace.clone(), &mut kept));
        }
        run(&backward, &mut operands);
        assert_close(&values(&src, &result), &gradient, 2e-6, &format!("{backward:?}"));
    }
}

#[test]
fn functions_of_one_element() {
    let desc = f32(&[3, 11]);
    let x: Vec<f64> = numbers(8, 33).iter().map(|x| rounded(DataType::F32, x * 4.0)).collect();
    let cases: [(Eltwise, f32, f32, fn(f64) -> f64); 10] = [
        (Eltwise::Relu, 0.0, 0.0, |x| x.max(0.0)),
        (Eltwise::GeluErf, 0.0, 0.0, gelu),
        (Eltwise::Tanh, 0.0, 0.0, f64::tanh),
        (Eltwise::Logistic, 0.0, 0.0, |x| 1.0 / (1.0 + (-x).exp())),
        (Eltwise::Exp, 0.0, 0.0, f64::exp),
        (Eltwise::Linear, 2.0, 1.0, |x| 2.0 * x + 1.0),
        (Eltwise::Clip, -1.0, 2.0, |x| x.clamp(-1.0, 2.0)),
        (Eltwise::Swish, 1.0, 0.0, |x| x / (1.0 + (-x).exp())),
        (Eltwise::Square, 0.0, 0.0, |x| x * x),
        (Eltwise::Abs, 0.0, 0.0, f64::abs),
    ];
    for (algorithm, alpha, beta, expected) in cases {
        let primitive =
            Arc::new(eltwise_forward(algorithm, &desc, &desc, alpha, beta, &attributes()).unwrap());
        let mut result = Buffer::new(desc.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, desc.clone(), &mut place(&desc, &x)),
                (Argument::Dst, desc.clone(), &mut result),
            ],
        );
        let expected: Vec<f64> = x.iter().map(|x| expected(*x)).collect();
        assert_close(&values(&desc, &result), &expected, 4e-6, &format!("{primitive:?}"));
    }
}

#[test]
fn functions_of_two_elements() {
    let (desc, row) = (f32(&[4, 9]), f32(&[1, 9]));
    let (x, y) = (numbers(9, 36), numbers(10, 9));
    let cases: [(BinaryKind, fn(f64, f64) -> f64); 6] = [
        (BinaryKind::Add, |x, y| x + y),
        (BinaryKind::Sub, |x, y| x - y),
        (BinaryKind::Mul, |x, y| x * y),
        (BinaryKind::Div, |x, y| x / y),
        (BinaryKind::Max, f64::max),
        (BinaryKind::Less, |x, y| f64::from(u8::from(x < y))),
    ];
    for (algorithm, expected) in cases {
        let primitive = Arc::new(binary(algorithm, &desc, &row, &desc, &attributes()).unwrap());
        let mut result = Buffer::new(desc.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, desc.clone(), &mut place(&desc, &x)),
                (Argument::Src1, row.clone(), &mut place(&row, &y)),
                (Argument::Dst, desc.clone(), &mut result),
            ],
        );
        let expected: Vec<f64> =
            x.iter().enumerate().map(|(place, x)| expected(*x, y[place % 9])).collect();
        assert_close(&values(&desc, &result), &expected, 2e-6, &format!("{primitive:?}"));
    }
}

#[test]
fn reductions() {
    let (src, dst) = (f32(&[6, 10]), f32(&[6, 1]));
    let x = numbers(11, 60);
    let cases: [(ReductionKind, fn(&[f64]) -> f64); 4] = [
        (ReductionKind::Sum, |row| row.iter().sum()),
        (ReductionKind::Mean, |row| row.iter().sum::<f64>() / row.len() as f64),
        (ReductionKind::Max, |row| row.iter().copied().fold(f64::MIN, f64::max)),
        (ReductionKind::Min, |row| row.iter().copied().fold(f64::MAX, f64::min)),
    ];
    for (algorithm, expected) in cases {
        let primitive =
            Arc::new(reduction(algorithm, &src, &dst, 0.0, 0.0, &attributes()).unwrap());
        let mut result = Buffer::new(dst.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, src.clone(), &mut place(&src, &x)),
                (Argument::Dst, dst.clone(), &mut result),
            ],
        );
        let expected: Vec<f64> = x.chunks(10).map(expected).collect();
        assert_close(&values(&dst, &result), &expected, 2e-6, &format!("{primitive:?}"));
    }
}
