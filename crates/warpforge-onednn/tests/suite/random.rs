//! Products and copies of random small shapes with random orders and gaps of dimensions: the library either computes what
//! the definition says or refuses with an error, and never anything else.

use crate::matmul::product;
use crate::support::*;
use proptest::prelude::*;
use std::sync::Arc;
use warpforge_onednn::{Argument, DataType, MemoryDesc, matmul};

/// Strides that put the dimensions in the given order, with a gap after each.
fn strides(dims: &[usize], order: &[usize], gap: usize) -> Vec<usize> {
    let mut strides = vec![0; dims.len()];
    let mut next = 1;
    for axis in order.iter().filter(|axis| **axis < dims.len()) {
        strides[*axis] = next;
        next = next * dims[*axis].max(1) + gap;
    }
    strides
}

fn floating() -> impl Strategy<Value = DataType> {
    prop_oneof![Just(DataType::F32), Just(DataType::Bf16)]
}

fn order() -> impl Strategy<Value = Vec<usize>> {
    Just(vec![0_usize, 1, 2, 3]).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn products(
        batch in prop::collection::vec(1_usize..4, 0..=2),
        (m, k, n) in (1_usize..20, 1_usize..40, 1_usize..20),
        orders in (order(), order(), order()),
        gap in 0_usize..3,
        broadcast in any::<bool>(),
        data_type in floating(),
        out in floating(),
        seed in any::<u64>(),
    ) {
        let dims = |rows: usize, columns: usize| [batch.as_slice(), &[rows, columns]].concat();
        let mut weights_dims = dims(k, n);
        if broadcast && !batch.is_empty() {
            weights_dims[0] = 1;
        }
        let out = if data_type == DataType::F32 { DataType::F32 } else { out };
        let describe = |data_type, dims: &[usize], order: &[usize]| {
            MemoryDesc::strided(data_type, dims, &strides(dims, order, gap)).unwrap()
        };
        let src = describe(data_type, &dims(m, k), &orders.0);
        let weights = describe(data_type, &weights_dims, &orders.1);
        let dst = describe(out, &dims(m, n), &orders.2);
        // Not every order of an output's dimensions has an implementation; a refusal names the product.
        let primitive = match matmul(&src, &weights, None, &dst, &attributes()) {
            Ok(primitive) => Arc::new(primitive),
            Err(error) => {
                prop_assert!(error.to_string().contains("matmul"), "{error}");
                return Ok(());
            }
        };
        let mut source = fastrand::Rng::with_seed(seed);
        let a = random(&mut source, data_type, src.dims().iter().product());
        let b = random(&mut source, data_type, weights.dims().iter().product());
        let mut result = Buffer::new(dst.bytes());
        run(&primitive, &mut [
            (Argument::Src, src.clone(), &mut place(&src, &a)),
            (Argument::Weights, weights.clone(), &mut place(&weights, &b)),
            (Argument::Dst, dst.clone(), &mut result),
        ]);
        let expected = product(&a, src.dims(), &b, weights.dims());
        assert_close(&values(&dst, &result), &expected, tolerance(out), &format!("{primitive:?}"));
    }

    #[test]
    fn copies(
        dims in prop::collection::vec(1_usize..6, 1..=4),
        orders in (order(), order()),
        gaps in (0_usize..3, 0_usize..3),
        from in floating(),
        to in floating(),
        seed in any::<u64>(),
    ) {
        let source = MemoryDesc::strided(from, &dims, &strides(&dims, &orders.0, gaps.0)).unwrap();
        let target = MemoryDesc::strided(to, &dims, &strides(&dims, &orders.1, gaps.1)).unwrap();
        let x = random(&mut fastrand::Rng::with_seed(seed), from, dims.iter().product());
        let result = packed(&source, &mut place(&source, &x), &target);
        let expected: Vec<f64> = x.iter().map(|x| rounded(to, *x)).collect();
        prop_assert_eq!(values(&target, &result), expected);
    }
}
