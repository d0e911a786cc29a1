//! Quantized tensors.

use warpforge_hlo::ir::{Convolution, ConvolutionDimensions, DotGeneral};
use warpforge_hlo::{ElementType, QuantizedType, TensorType};
use warpforge_tensor::{DType, Shape};

use super::{tensor, ty, values};
use crate::reference::quantized::{
    convolution, dequantize, dot_general, quantize, uniform_dequantize, uniform_quantize, zeros,
};

fn quantized(axis: Option<u64>, parameters: &[(f64, i64)]) -> QuantizedType {
    QuantizedType {
        storage: DType::I8,
        storage_range: None,
        expressed: DType::F32,
        axis,
        scale_bits: parameters.iter().map(|(scale, _)| scale.to_bits()).collect(),
        zero_points: parameters.iter().map(|(_, zero)| *zero).collect(),
    }
}

fn quantized_type(sizes: &[usize], quantized: &QuantizedType) -> TensorType {
    TensorType {
        element: ElementType::Quantized(Box::new(quantized.clone())),
        ..ty(DType::I8, sizes)
    }
}

#[test]
fn the_specifications_examples() {
    let first = quantized_type(&[2], &quantized(Some(0), &[(0.1, -30), (0.5, -20)]));
    let second = quantized_type(&[2], &quantized(Some(0), &[(0.1, -20), (0.2, -30)]));
    let real = tensor(DType::F32, &[2], &[4.0, 15.0]);
    let stored = uniform_quantize(&real, &ty(DType::F32, &[2]), &first).unwrap();
    assert_eq!(values(&stored), [10.0, 10.0]);
    assert_eq!(uniform_dequantize(&stored, &first), Ok(real));
    let other = uniform_quantize(&stored, &first, &second).unwrap();
    assert_eq!(values(&other), [20.0, 45.0]);
}

#[test]
fn the_range_is_kept_and_ties_go_to_even() {
    let stored = |quantized: &QuantizedType, list: &[f64]| {
        values(&quantize(list, quantized, Shape::new([list.len()]).unwrap()).unwrap())
    };
    let plain = quantized(None, &[(1.0, 0)]);
    let list = [0.5, 1.5, -0.5, 1e9, -1e9, f64::INFINITY, f64::NAN];
    assert_eq!(stored(&plain, &list), [0.0, 2.0, 0.0, 127.0, -128.0, 127.0, 0.0]);
    let narrow = QuantizedType { storage_range: Some((-7, 7)), ..plain.clone() };
    assert_eq!(stored(&narrow, &[8.0, -8.0]), [7.0, -7.0]);
    let unsigned = QuantizedType { storage: DType::U4, ..plain.clone() };
    assert_eq!(stored(&unsigned, &[20.0, -1.0]), [15.0, 0.0]);
    // The largest i32 is no f32; the next one would wrap.
    let wide = QuantizedType { storage: DType::I32, ..plain.clone() };
    assert_eq!(stored(&wide, &[1e20]), [2147483647.0]);
    // 0.35 / 0.1 is a tie once rounded to f32, as the specification computes it.
    assert_eq!(stored(&quantized(None, &[(0.1, 0)]), &[0.35]), [4.0]);
    let nothing = QuantizedType { storage_range: Some((2, 1)), ..plain };
    assert!(quantize(&[1.0], &nothing, Shape::new([1]).unwrap()).is_err());
}

#[test]
fn scales_go_with_their_dimension() {
    let parameters = [(1.0, 0), (2.0, 1), (4.0, 2)];
    let per_column = quantized(Some(1), &parameters);
    let stored = tensor(DType::I8, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let real = dequantize(&stored, &per_column).unwrap();
    assert_eq!(real, [1.0, 2.0, 4.0, 4.0, 8.0, 16.0]);
    let back = quantize(&real, &per_column, stored.shape().clone());
    assert_eq!(back, Ok(stored.clone()));
    assert!(dequantize(&stored, &quantized(Some(0), &parameters)).is_err());
    assert!(dequantize(&stored, &quantized(Some(2), &parameters)).is_err());
    let zero = zeros(&quantized_type(&[2], &quantized(None, &[(0.5, -3)]))).unwrap();
    assert_eq!(values(&zero), [-3.0, -3.0]);
}

#[test]
fn products_are_of_the_real_numbers() {
    let left = quantized_type(&[1, 2], &quantized(None, &[(0.5, 1)]));
    let right = quantized_type(&[2, 2], &quantized(Some(1), &[(1.0, 0), (2.0, 0)]));
    let result = quantized_type(&[1, 2], &quantized(None, &[(0.25, -5)]));
    let numbers =
        DotGeneral { lhs_contracting: vec![1], rhs_contracting: vec![0], ..DotGeneral::default() };
    // Real: [1, 2] by [[1, 2], [3, 8]] is [7, 18].
    let lhs = tensor(DType::I8, &[1, 2], &[3.0, 5.0]);
    let rhs = tensor(DType::I8, &[2, 2], &[1.0, 1.0, 3.0, 4.0]);
    let found = dot_general(&numbers, (&lhs, &left), (&rhs, &right), &result).unwrap();
    assert_eq!(values(&found), [23.0, 67.0]);
    // Hybrid: the left operand and the result are real.
    let real = tensor(DType::F32, &[1, 2], &[1.0, 2.0]);
    let plain = ty(DType::F32, &[1, 2]);
    let found = dot_general(&numbers, (&real, &plain), (&rhs, &right), &plain).unwrap();
    assert_eq!(values(&found), [7.0, 18.0]);
    let numbers = Convolution {
        dimensions: ConvolutionDimensions::from_notation("[b, f]x[i, o]->[b, f]").unwrap(),
        feature_group_count: 1,
        batch_group_count: 1,
        ..Convolution::default()
    };
    let found = convolution(&numbers, (&lhs, &left), (&rhs, &right), &result).unwrap();
    assert_eq!(values(&found), [23.0, 67.0]);
}
