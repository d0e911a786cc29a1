//! Products against their definition, in every layout, and what is rounded when.

use warpforge_hlo::ir::DotGeneral;
use warpforge_hlo::{Attribute, Attributes};
use warpforge_tensor::{Complex64, DType, Elements, Shape, Tensor};

use super::{close, counted, drawn, flat, indices, tensor, ty, values};
use crate::reference::product::{dot, dot_general, einsum, unary_einsum};

/// `dot_general` as the specification defines it.
fn defined(numbers: &DotGeneral, lhs: &Tensor, rhs: &Tensor) -> (Vec<usize>, Vec<f64>) {
    let place = |axes: &[i64]| axes.iter().map(|axis| *axis as usize).collect::<Vec<_>>();
    let (lhs_batch, rhs_batch) = (place(&numbers.lhs_batching), place(&numbers.rhs_batching));
    let (lhs_sum, rhs_sum) = (place(&numbers.lhs_contracting), place(&numbers.rhs_contracting));
    let free = |tensor: &Tensor, batch: &[usize], sum: &[usize]| -> Vec<usize> {
        let axes = 0..tensor.shape().rank();
        axes.filter(|axis| !batch.contains(axis) && !sum.contains(axis)).collect()
    };
    let (lhs_free, rhs_free) = (free(lhs, &lhs_batch, &lhs_sum), free(rhs, &rhs_batch, &rhs_sum));
    let (lhs_sizes, rhs_sizes) = (lhs.shape().sizes(), rhs.shape().sizes());
    let sizes =
        |sizes: &[usize], axes: &[usize]| axes.iter().map(|a| sizes[*a]).collect::<Vec<_>>();
    let shape =
        [sizes(lhs_sizes, &lhs_batch), sizes(lhs_sizes, &lhs_free), sizes(rhs_sizes, &rhs_free)]
            .concat();
    let (left, right) = (values(lhs), values(rhs));
    let sums = indices(&shape).into_iter().map(|index| {
        let (batch, rest) = index.split_at(lhs_batch.len());
        let (row, column) = rest.split_at(lhs_free.len());
        let terms = indices(&sizes(lhs_sizes, &lhs_sum)).into_iter().map(|inner| {
            let at = |rank: usize, parts: [(&[usize], &[usize]); 3]| {
                let mut index = vec![0; rank];
                for (axes, own) in parts {
                    axes.iter().zip(own).for_each(|(axis, own)| index[*axis] = *own);
                }
                index
            };
            let a =
                at(lhs_sizes.len(), [(&lhs_batch, batch), (&lhs_free, row), (&lhs_sum, &inner)]);
            let b =
                at(rhs_sizes.len(), [(&rhs_batch, batch), (&rhs_free, column), (&rhs_sum, &inner)]);
            left[flat(&a, lhs_sizes)] * right[flat(&b, rhs_sizes)]
        });
        terms.sum()
    });
    let sums = sums.collect();
    (shape, sums)
}

#[test]
fn any_layout_is_as_defined() {
    let mut dice = fastrand::Rng::with_seed(1);
    for round in 0..400 {
        let counts = [0, 1, 2].map(|_| dice.usize(0..3));
        let size = |dice: &mut fastrand::Rng| {
            if round % 10 == 0 { dice.usize(0..3) } else { dice.usize(1..6) }
        };
        // Sizes by role: shared in batches, shared in sums, free.
        let batch: Vec<usize> = (0..counts[0]).map(|_| size(&mut dice)).collect();
        let inner: Vec<usize> = (0..counts[1]).map(|_| size(&mut dice)).collect();
        let mut side = || {
            let free: Vec<usize> = (0..dice.usize(0..3)).map(|_| size(&mut dice)).collect();
            let all = [&batch[..], &inner, &free].concat();
            let mut order: Vec<usize> = (0..all.len()).collect();
            dice.shuffle(&mut order);
            let sizes: Vec<usize> = order.iter().map(|own| all[*own]).collect();
            let place = |own: usize| order.iter().position(|other| *other == own).unwrap() as i64;
            let batching: Vec<i64> = (0..batch.len()).map(place).collect();
            let contracting: Vec<i64> =
                (batch.len()..batch.len() + inner.len()).map(place).collect();
            (drawn(DType::F32, &sizes, &mut dice), batching, contracting)
        };
        let (lhs, lhs_batching, lhs_contracting) = side();
        let (rhs, rhs_batching, rhs_contracting) = side();
        let numbers = DotGeneral {
            lhs_batching,
            rhs_batching,
            lhs_contracting,
            rhs_contracting,
            ..DotGeneral::default()
        };
        let (shape, expected) = defined(&numbers, &lhs, &rhs);
        let found = dot_general(&numbers, &lhs, &rhs, &ty(DType::F32, &shape)).unwrap();
        assert_eq!(values(&found), expected, "{numbers:?} {lhs:?} {rhs:?}");
    }
}

#[test]
fn blocks_and_threads_do_not_show() {
    let mut dice = fastrand::Rng::with_seed(2);
    let (m, n, k) = (131, 300, 2100);
    let float = |dice: &mut fastrand::Rng, count: usize| {
        (0..count).map(|_| dice.f64() - 0.5).collect::<Vec<_>>()
    };
    let (a, b) = (float(&mut dice, m * k), float(&mut dice, k * n));
    let lhs = tensor(DType::F64, &[m, k], &a);
    let rhs = tensor(DType::F64, &[k, n], &b);
    let found = values(&dot(&lhs, &rhs, &ty(DType::F64, &[m, n])).unwrap());
    for (row, column) in [(0, 0), (130, 299), (64, 255), (65, 256), (3, 17)] {
        let sum: f64 =
            (0..k).fold(0.0, |sum, inner| sum + a[row * k + inner] * b[inner * n + column]);
        assert_eq!(found[row * n + column], sum);
    }
}

#[test]
fn sums_are_wider_than_what_is_multiplied() {
    // 1 + 2^-8 is not a bf16, but products of bf16 are summed before anything is rounded.
    let lhs = tensor(DType::BF16, &[1, 2], &[1.0, 0.0625]);
    let rhs = tensor(DType::BF16, &[2, 1], &[1.0, 0.0625]);
    let wide = dot(&lhs, &rhs, &ty(DType::F32, &[1, 1])).unwrap();
    assert_eq!(values(&wide), [1.0 + 0.0625 * 0.0625]);
    let narrow = dot(&lhs, &rhs, &ty(DType::BF16, &[1, 1])).unwrap();
    assert_eq!(values(&narrow), [1.0]);
    let bytes = tensor(DType::I8, &[2], &[-128.0, 127.0]);
    let sum = dot(&bytes, &bytes, &ty(DType::I32, &[])).unwrap();
    assert_eq!(values(&sum), [32513.0]);
    assert_eq!(values(&dot(&bytes, &bytes, &ty(DType::I8, &[])).unwrap()), [1.0]);
    let flags = tensor(DType::I1, &[2], &[1.0, 1.0]);
    assert_eq!(values(&dot(&flags, &flags, &ty(DType::I1, &[])).unwrap()), [1.0]);
}

#[test]
fn complex_products() {
    let pair = |re: f64, im: f64| Complex64::new(re, im);
    let values = Elements::Complex(vec![pair(1.0, 2.0), pair(0.0, -1.0)]);
    let vector = Tensor::from_elements(DType::C64, Shape::new([2]).unwrap(), &values).unwrap();
    let found = dot(&vector, &vector, &ty(DType::C64, &[])).unwrap();
    // (1 + 2i)² + (-i)² = -3 + 4i - 1
    assert_eq!(found.elements(), Elements::Complex(vec![pair(-4.0, 4.0)]));
}

#[test]
fn einsum_takes_any_labels() {
    let (a, b) = (counted(DType::F32, &[2, 3]), counted(DType::F32, &[3, 4]));
    let plain = dot(&a, &b, &ty(DType::F32, &[2, 4])).unwrap();
    assert_eq!(einsum("ij,jk->ik", &a, &b, &ty(DType::F32, &[2, 4])).unwrap(), plain);
    let turned = einsum("ij, jk -> ki", &a, &b, &ty(DType::F32, &[4, 2])).unwrap();
    assert_eq!(values(&turned), [20.0, 56.0, 23.0, 68.0, 26.0, 80.0, 29.0, 92.0]);
    let rest = einsum("...j,jk->...k", &a, &b, &ty(DType::F32, &[2, 4])).unwrap();
    assert_eq!(rest, plain);
    // A label of one operand only is summed over; one of the result only does not exist.
    let sums = einsum("ij,k->k", &a, &counted(DType::F32, &[2]), &ty(DType::F32, &[2])).unwrap();
    assert_eq!(values(&sums), [0.0, 15.0]);
    assert!(einsum("ij,jk->iz", &a, &b, &ty(DType::F32, &[2, 4])).is_err());
    assert!(einsum("ij,jk", &a, &b, &ty(DType::F32, &[2, 4])).is_err());
    assert!(einsum("ijk,jk->i", &a, &b, &ty(DType::F32, &[2])).is_err());
    assert!(einsum("ij,jk->ii", &a, &b, &ty(DType::F32, &[2, 2])).is_err());
}

#[test]
fn unary_einsum_transposes_sums_and_takes_diagonals() {
    let square = counted(DType::I32, &[3, 3]);
    let turned = unary_einsum("ab->ba", &square, &ty(DType::I32, &[3, 3])).unwrap();
    assert_eq!(values(&turned), [0.0, 3.0, 6.0, 1.0, 4.0, 7.0, 2.0, 5.0, 8.0]);
    assert_eq!(
        values(&unary_einsum("ab->a", &square, &ty(DType::I32, &[3])).unwrap()),
        [3.0, 12.0, 21.0]
    );
    assert_eq!(
        values(&unary_einsum("aa->a", &square, &ty(DType::I32, &[3])).unwrap()),
        [0.0, 4.0, 8.0]
    );
    assert_eq!(values(&unary_einsum("aa->", &square, &ty(DType::I32, &[])).unwrap()), [12.0]);
}

#[test]
fn an_algorithm_rounds_the_operands_first() {
    let one = 1.0 + 2.0_f64.powi(-12);
    let vector = tensor(DType::F32, &[1], &[one]);
    let with = |precision: &str, parts: i128| {
        let mut fields = Attributes::default();
        for side in ["lhs", "rhs"] {
            let body = precision.to_owned();
            fields.push(
                format!("{side}_precision_type"),
                Attribute::Opaque { name: String::new(), body },
            );
            let count = Attribute::Integer { value: parts, dtype: None };
            fields.push(format!("{side}_component_count"), count);
        }
        let name = "stablehlo.dot_algorithm".to_owned();
        let numbers = DotGeneral {
            lhs_contracting: vec![0],
            rhs_contracting: vec![0],
            algorithm: Some(Attribute::Structure { name, fields }),
            ..DotGeneral::default()
        };
        dot_general(&numbers, &vector, &vector, &ty(DType::F32, &[]))
    };
    assert_eq!(values(&with("tf32", 1).unwrap()), [1.0]);
    assert_eq!(values(&with("bf16", 1).unwrap()), [1.0]);
    close(&values(&with("bf16", 2).unwrap()), &[one * one], 1e-7);
    close(&values(&with("f32", 1).unwrap()), &[one * one], 1e-7);
    assert!(with("f31", 1).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    let (a, b) = (counted(DType::F32, &[2, 3]), counted(DType::F32, &[2, 3]));
    assert!(dot(&a, &b, &ty(DType::F32, &[2, 3])).is_err());
    let b = counted(DType::F32, &[3, 2]);
    assert!(dot(&a, &b, &ty(DType::F32, &[3, 2])).is_err());
    assert!(dot(&a, &b, &ty(DType::I32, &[2, 2])).is_err());
    let numbers =
        DotGeneral { lhs_batching: vec![7], rhs_batching: vec![0], ..DotGeneral::default() };
    assert!(dot_general(&numbers, &a, &b, &ty(DType::F32, &[2, 2])).is_err());
}
