//! Matrix products against sums in f64: transposed, batched, with fused work, packed, in bf16.

use crate::support::*;
use std::sync::Arc;
use warpforge_onednn::{
    Argument, Attributes, BinaryKind, DataType, Eltwise, Fpmath, MemoryDesc, matmul,
};

/// `[..., m, k] * [..., k, n]` in row-major order, batch dimensions of 1 broadcast.
pub(crate) fn product(a: &[f64], a_dims: &[usize], b: &[f64], b_dims: &[usize]) -> Vec<f64> {
    let rank = a_dims.len();
    let (m, k, n) = (a_dims[rank - 2], a_dims[rank - 1], b_dims[rank - 1]);
    let batch: Vec<usize> =
        a_dims.iter().zip(b_dims).take(rank - 2).map(|(a, b)| *a.max(b)).collect();
    let matrix = |index: &[usize], dims: &[usize]| {
        index
            .iter()
            .zip(dims)
            .fold(0, |flat, (index, dim)| flat * dim + if *dim == 1 { 0 } else { *index })
    };
    let mut result = Vec::new();
    for index in indices(&batch) {
        let a = &a[matrix(&index, a_dims) * m * k..];
        let b = &b[matrix(&index, b_dims) * k * n..];
        for row in 0..m {
            for column in 0..n {
                result.push((0..k).map(|inner| a[row * k + inner] * b[inner * n + column]).sum());
            }
        }
    }
    result
}

struct Case {
    src: MemoryDesc,
    weights: MemoryDesc,
    dst: MemoryDesc,
}

/// Runs a product without bias and compares it.
fn check(case: &Case, attributes: &Attributes, expected: impl Fn(f64) -> f64) -> String {
    let mut random_source = fastrand::Rng::with_seed(7);
    let Case { src, weights, dst } = case;
    let count = |descriptor: &MemoryDesc| descriptor.dims().iter().product();
    let a = random(&mut random_source, src.data_type(), count(src));
    let b = random(&mut random_source, weights.data_type(), count(weights));
    let primitive = Arc::new(matmul(src, weights, None, dst, attributes).unwrap());
    let (mut a_buffer, mut b_buffer) = (place(src, &a), place(weights, &b));
    let mut result = Buffer::new(dst.bytes());
    run(
        &primitive,
        &mut [
            (Argument::Src, src.clone(), &mut a_buffer),
            (Argument::Weights, weights.clone(), &mut b_buffer),
            (Argument::Dst, dst.clone(), &mut result),
        ],
    );
    let expected: Vec<f64> =
        product(&a, src.dims(), &b, weights.dims()).into_iter().map(expected).collect();
    assert_close(
        &values(dst, &result),
        &expected,
        tolerance(dst.data_type()),
        &format!("{primitive:?}"),
    );
    primitive.implementation().to_owned()
}

fn row_major(data_type: DataType, dims: &[usize]) -> MemoryDesc {
    MemoryDesc::row_major(data_type, dims).unwrap()
}

fn f32(dims: &[usize]) -> MemoryDesc {
    row_major(DataType::F32, dims)
}

#[test]
fn plain() {
    for (m, k, n) in [(1, 1, 1), (3, 5, 7), (33, 64, 17), (64, 100, 96)] {
        let case = Case { src: f32(&[m, k]), weights: f32(&[k, n]), dst: f32(&[m, n]) };
        check(&case, &attributes(), |x| x);
    }
}

#[test]
fn transposed_by_strides() {
    let (m, k, n) = (19, 40, 33);
    let transposed = |rows: usize, columns: usize| {
        MemoryDesc::strided(DataType::F32, &[rows, columns], &[1, rows]).unwrap()
    };
    check(
        &Case { src: f32(&[m, k]), weights: transposed(k, n), dst: f32(&[m, n]) },
        &attributes(),
        |x| x,
    );
    check(
        &Case { src: transposed(m, k), weights: f32(&[k, n]), dst: f32(&[m, n]) },
        &attributes(),
        |x| x,
    );
    check(
        &Case { src: transposed(m, k), weights: transposed(k, n), dst: f32(&[m, n]) },
        &attributes(),
        |x| x,
    );
}

#[test]
fn gaps_between_rows() {
    let (m, k, n) = (8, 12, 20);
    let gapped = |rows: usize, columns: usize| {
        MemoryDesc::strided(DataType::F32, &[rows, columns], &[columns + 13, 1]).unwrap()
    };
    check(
        &Case { src: gapped(m, k), weights: gapped(k, n), dst: gapped(m, n) },
        &attributes(),
        |x| x,
    );
}

#[test]
fn batched() {
    let case = Case { src: f32(&[3, 5, 8]), weights: f32(&[3, 8, 6]), dst: f32(&[3, 5, 6]) };
    check(&case, &attributes(), |x| x);
    let broadcast = Case { src: f32(&[3, 5, 8]), weights: f32(&[1, 8, 6]), dst: f32(&[3, 5, 6]) };
    check(&broadcast, &attributes(), |x| x);
    // Attention: heads lie inside rows, and the second operand is transposed.
    let (heads, rows, depth) = (3, 10, 16);
    let queries =
        MemoryDesc::strided(DataType::F32, &[heads, rows, depth], &[depth, heads * depth, 1])
            .unwrap();
    let keys =
        MemoryDesc::strided(DataType::F32, &[heads, depth, rows], &[depth, 1, heads * depth])
            .unwrap();
    check(
        &Case { src: queries, weights: keys, dst: f32(&[heads, rows, rows]) },
        &attributes(),
        |x| x,
    );
}

#[test]
fn several_batch_dimensions_are_refused() {
    let (src, weights, dst) = (f32(&[2, 3, 5, 8]), f32(&[2, 3, 8, 6]), f32(&[2, 3, 5, 6]));
    let refused = matmul(&src, &weights, None, &dst, &attributes()).err().unwrap();
    assert!(refused.to_string().contains("several batch dimensions"), "{refused}");
}

#[test]
fn bias_activation_and_residual_are_fused() {
    for (data_type, out) in [
        (DataType::F32, DataType::F32),
        (DataType::Bf16, DataType::F32),
        (DataType::Bf16, DataType::Bf16),
    ] {
        let (m, k, n) = (24, 48, 40);
        let mut source = fastrand::Rng::with_seed(11);
        let (src, bias) = (row_major(data_type, &[m, k]), f32(&[1, n]));
        let plain = row_major(data_type, &[k, n]);
        let (dst, residual) = (row_major(out, &[m, n]), row_major(out, &[m, n]));
        let fused = attributes()
            .eltwise(Eltwise::GeluErf, 0.0, 0.0)
            .binary(BinaryKind::Add, residual.clone());
        assert_eq!(fused.post_ops(), 2);
        let any = MemoryDesc::any(data_type, &[k, n]).unwrap();
        let primitive = Arc::new(matmul(&src, &any, Some(&bias), &dst, &fused).unwrap());
        let weights = primitive.descriptor(Argument::Weights).unwrap();
        assert!(!weights.is_any());
        let a = random(&mut source, data_type, m * k);
        let b = random(&mut source, data_type, k * n);
        let c = random(&mut source, DataType::F32, n);
        let r = random(&mut source, out, m * n);
        let mut plain_buffer = place(&plain, &b);
        let mut weights_buffer = packed(&plain, &mut plain_buffer, &weights);
        let mut result = Buffer::new(dst.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, src.clone(), &mut place(&src, &a)),
                (Argument::Weights, weights, &mut weights_buffer),
                (Argument::Bias, bias.clone(), &mut place(&bias, &c)),
                (Argument::Dst, dst.clone(), &mut result),
                (Argument::PostOp(1), residual.clone(), &mut place(&residual, &r)),
            ],
        );
        let expected: Vec<f64> = product(&a, &[m, k], &b, &[k, n])
            .iter()
            .enumerate()
            .map(|(place, x)| gelu(x + c[place % n]) + r[place])
            .collect();
        let what = format!("{primitive:?}");
        // The library's error function is a polynomial.
        let tolerance = tolerance(out).max(4e-6);
        assert_close(&values(&dst, &result), &expected, tolerance, &what);
    }
}

#[test]
fn sum_adds_to_what_is_there() {
    let (src, weights, dst) = (f32(&[2, 2]), f32(&[2, 2]), f32(&[2, 2]));
    let primitive = Arc::new(matmul(&src, &weights, None, &dst, &attributes().sum(2.0)).unwrap());
    let mut result = place(&dst, &[1.0, 2.0, 3.0, 4.0]);
    run(
        &primitive,
        &mut [
            (Argument::Src, src.clone(), &mut place(&src, &[1.0, 2.0, 3.0, 4.0])),
            (Argument::Weights, weights.clone(), &mut place(&weights, &[1.0, 0.0, 0.0, 1.0])),
            (Argument::Dst, dst.clone(), &mut result),
        ],
    );
    assert_eq!(values(&dst, &result), [3.0, 6.0, 9.0, 12.0]);
}

#[test]
fn bf16() {
    for out in [DataType::F32, DataType::Bf16] {
        let case = Case {
            src: row_major(DataType::Bf16, &[32, 64]),
            weights: row_major(DataType::Bf16, &[64, 48]),
            dst: row_major(out, &[32, 48]),
        };
        check(&case, &attributes(), |x| x);
    }
}

#[test]
fn f32_may_be_rounded_to_bf16_when_asked() {
    let case = Case { src: f32(&[32, 64]), weights: f32(&[64, 48]), dst: f32(&[32, 48]) };
    let mut source = fastrand::Rng::with_seed(3);
    let a = random(&mut source, DataType::Bf16, 32 * 64);
    let b = random(&mut source, DataType::Bf16, 64 * 48);
    let primitive = Arc::new(
        matmul(&case.src, &case.weights, None, &case.dst, &attributes().fpmath(Fpmath::Bf16))
            .unwrap(),
    );
    let mut result = Buffer::new(case.dst.bytes());
    run(
        &primitive,
        &mut [
            (Argument::Src, case.src.clone(), &mut place(&case.src, &a)),
            (Argument::Weights, case.weights.clone(), &mut place(&case.weights, &b)),
            (Argument::Dst, case.dst.clone(), &mut result),
        ],
    );
    let expected = product(&a, &[32, 64], &b, &[64, 48]);
    assert_close(&values(&case.dst, &result), &expected, 2e-6, "operands that bf16 holds exactly");
}

#[test]
fn deterministic_runs_agree_bit_by_bit() {
    let (src, weights, dst) = (f32(&[40, 300]), f32(&[300, 50]), f32(&[40, 50]));
    let attributes = attributes().deterministic(true);
    let primitive = Arc::new(matmul(&src, &weights, None, &dst, &attributes).unwrap());
    let mut source = fastrand::Rng::with_seed(5);
    let mut a = place(&src, &random(&mut source, DataType::F32, 40 * 300));
    let mut b = place(&weights, &random(&mut source, DataType::F32, 300 * 50));
    let mut results = [Buffer::new(dst.bytes()), Buffer::new(dst.bytes())];
    for result in &mut results {
        run(
            &primitive,
            &mut [
                (Argument::Src, src.clone(), &mut a),
                (Argument::Weights, weights.clone(), &mut b),
                (Argument::Dst, dst.clone(), result),
            ],
        );
    }
    assert_eq!(results[0].bytes(), results[1].bytes());
}
