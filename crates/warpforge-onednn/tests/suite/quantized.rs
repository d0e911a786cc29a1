//! Products of small integers with factors and zero points, against the same arithmetic by definition.

use crate::matmul::product;
use crate::support::*;
use std::sync::Arc;
use warpforge_onednn::{
    Argument, DataType, Execution, Fpmath, MemoryDesc, MostIsa, OnednnError, Operand, Status,
    limit_cpu_isa, matmul, sums_bytes_exactly,
};

fn row_major(data_type: DataType, dims: &[usize]) -> MemoryDesc {
    MemoryDesc::row_major(data_type, dims).unwrap()
}

#[test]
fn integers_with_factors_and_zero_points() {
    let (m, k, n) = (12, 64, 20);
    for (src_type, out) in [
        (DataType::U8, DataType::F32),
        (DataType::S8, DataType::F32),
        (DataType::U8, DataType::S8),
        (DataType::U8, DataType::S32),
    ] {
        let (src, weights) = (row_major(src_type, &[m, k]), row_major(DataType::S8, &[k, n]));
        let any = MemoryDesc::any(DataType::S8, &[k, n]).unwrap();
        let dst = row_major(out, &[m, n]);
        let attributes = attributes()
            .scales(Operand::Src, 0)
            .scales(Operand::Weights, 1 << 1)
            .scales(Operand::Dst, 0)
            .zero_points(Operand::Src, 0)
            .zero_points(Operand::Dst, 0);
        let created = matmul(&src, &any, None, &dst, &attributes);
        if !sums_bytes_exactly() {
            assert!(created.is_err_and(|error| error.to_string().contains("without VNNI")));
            continue;
        }
        let primitive = Arc::new(created.unwrap());
        let chosen = primitive.descriptor(Argument::Weights).unwrap();
        let expected = primitive.descriptor(Argument::Scales(Operand::Weights)).unwrap();
        assert_eq!(expected.dims(), [n]);
        let short = [(Argument::Scales(Operand::Weights), row_major(DataType::F32, &[n - 1]))];
        assert!(Execution::new(&primitive, &short).is_err());
        let mut source = fastrand::Rng::with_seed(31);
        let a = random(&mut source, src_type, m * k);
        let b = random(&mut source, DataType::S8, k * n);
        let column_factors: Vec<f64> =
            (0..n).map(|column| 0.25 * (1 + column % 3) as f64).collect();
        let (src_factor, dst_factor, src_zero, dst_zero) = (0.5, 64.0, 3.0, 2.0);
        let (one, one_integer) = (row_major(DataType::F32, &[1]), row_major(DataType::S32, &[1]));
        let factors = row_major(DataType::F32, &[n]);
        let mut weights_buffer = packed(&weights, &mut place(&weights, &b), &chosen);
        let mut result = Buffer::new(dst.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, src.clone(), &mut place(&src, &a)),
                (Argument::Weights, chosen, &mut weights_buffer),
                (Argument::Dst, dst.clone(), &mut result),
                (Argument::Scales(Operand::Src), one.clone(), &mut place(&one, &[src_factor])),
                (
                    Argument::Scales(Operand::Weights),
                    factors.clone(),
                    &mut place(&factors, &column_factors),
                ),
                (Argument::Scales(Operand::Dst), one.clone(), &mut place(&one, &[dst_factor])),
                (
                    Argument::ZeroPoints(Operand::Src),
                    one_integer.clone(),
                    &mut place(&one_integer, &[src_zero]),
                ),
                (
                    Argument::ZeroPoints(Operand::Dst),
                    one_integer.clone(),
                    &mut place(&one_integer, &[dst_zero]),
                ),
            ],
        );
        let shifted: Vec<f64> = a.iter().map(|a| a - src_zero).collect();
        let expected: Vec<f64> = product(&shifted, &[m, k], &b, &[k, n])
            .iter()
            .enumerate()
            .map(|(place, sum)| {
                let value = sum * src_factor * column_factors[place % n] / dst_factor + dst_zero;
                match out {
                    DataType::S8 => value.round_ties_even().clamp(-128.0, 127.0),
                    DataType::S32 => value.round_ties_even(),
                    _ => value,
                }
            })
            .collect();
        assert_close(&values(&dst, &result), &expected, 2e-6, &format!("{primitive:?}"));
    }
}

#[test]
fn bytes_are_refused_where_their_sums_are_cut_off() {
    // It works before anything was created: where tests share a process, another one may have been first.
    if limit_cpu_isa(MostIsa::Avx512) {
        assert!(!sums_bytes_exactly());
    }
    let (src, weights) = (row_major(DataType::U8, &[4, 64]), row_major(DataType::S8, &[64, 4]));
    let created = matmul(&src, &weights, None, &row_major(DataType::F32, &[4, 4]), &attributes());
    assert_eq!(created.is_ok(), sums_bytes_exactly(), "{created:?}");
    // Other numbers have no such limit.
    let floats = [[4, 64], [64, 4], [4, 4]].map(|dims| row_major(DataType::F32, &dims));
    assert!(matmul(&floats[0], &floats[1], None, &floats[2], &attributes()).is_ok());
}

#[test]
fn integer_weights_are_widened_for_floating_point_inputs() {
    let (m, k, n, group) = (4, 64, 32, 32);
    let (src, weights, dst) = (
        row_major(DataType::Bf16, &[m, k]),
        row_major(DataType::S8, &[k, n]),
        row_major(DataType::F32, &[m, n]),
    );
    let attributes = attributes().fpmath(Fpmath::Bf16).fpmath_on_integers(true).grouped_scales(
        Operand::Weights,
        0b11,
        &[group, 1],
        DataType::F32,
    );
    let primitive = match matmul(&src, &weights, None, &dst, &attributes) {
        Ok(primitive) => Arc::new(primitive),
        // Machines without bf16 arithmetic have no implementation.
        Err(OnednnError::Refused { status: Status::Unimplemented, .. }) => return,
        Err(error) => panic!("{error}"),
    };
    let mut source = fastrand::Rng::with_seed(37);
    let a = random(&mut source, DataType::Bf16, m * k);
    let b = random(&mut source, DataType::S8, k * n);
    let factors_desc = row_major(DataType::F32, &[k / group, n]);
    let factors: Vec<f64> = (0..k / group * n).map(|place| [0.5, 0.25, 2.0][place % 3]).collect();
    let mut result = Buffer::new(dst.bytes());
    run(
        &primitive,
        &mut [
            (Argument::Src, src.clone(), &mut place(&src, &a)),
            (Argument::Weights, weights.clone(), &mut place(&weights, &b)),
            (Argument::Dst, dst.clone(), &mut result),
            (
                Argument::Scales(Operand::Weights),
                factors_desc.clone(),
                &mut place(&factors_desc, &factors),
            ),
        ],
    );
    let scaled: Vec<f64> = b
        .iter()
        .enumerate()
        .map(|(place, b)| b * factors[place / n / group * n + place % n])
        .collect();
    let expected = product(&a, &[m, k], &scaled, &[k, n]);
    assert_close(&values(&dst, &result), &expected, 2e-6, &format!("{primitive:?}"));
}
