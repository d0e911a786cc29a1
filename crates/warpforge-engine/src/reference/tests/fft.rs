//! Fourier transforms against their definition, for lengths of every kind.

use std::f64::consts::TAU;

use warpforge_hlo::ir::FftKind;
use warpforge_tensor::{Complex64, DType, Elements, Shape, Tensor};

use super::{flat, indices, ty};
use crate::reference::fft::fft;

fn complex(dtype: DType, sizes: &[usize], values: Vec<Complex64>) -> Tensor {
    Tensor::from_elements(dtype, Shape::new(sizes).unwrap(), &Elements::Complex(values)).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<Complex64> {
    match tensor.elements() {
        Elements::Complex(values) => values,
        Elements::Floats(values) => values.into_iter().map(Complex64::from).collect(),
        Elements::Integers(_) => panic!("a transform makes no integers"),
    }
}

fn noise(count: usize, dice: &mut fastrand::Rng) -> Vec<Complex64> {
    (0..count).map(|_| Complex64::new(dice.f64() - 0.5, dice.f64() - 0.5)).collect()
}

/// The definition, over the last dimensions.
fn defined(values: &[Complex64], sizes: &[usize], over: usize, sign: f64) -> Vec<Complex64> {
    let first = sizes.len() - over;
    let term = |to: &[usize], from: &[usize]| {
        let turns: f64 = (first..sizes.len())
            .map(|axis| (to[axis] * from[axis] % sizes[axis]) as f64 / sizes[axis] as f64)
            .sum();
        values[flat(from, sizes)] * Complex64::from_polar(1.0, sign * TAU * turns)
    };
    indices(sizes)
        .iter()
        .map(|to| {
            let lines = indices(&sizes[first..]);
            lines.iter().map(|line| term(to, &[&to[..first], line].concat())).sum()
        })
        .collect()
}

fn near(found: &[Complex64], expected: &[Complex64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().map(|value| value.norm_sqr()).sum::<f64>().sqrt().max(1e-300);
    let error = found.iter().zip(expected).map(|(a, b)| (a - b).norm_sqr()).sum::<f64>().sqrt();
    assert!(error <= tolerance * size, "error {} of {size}", error);
}

#[test]
fn every_length_is_as_defined() {
    let mut dice = fastrand::Rng::with_seed(10);
    for length in (1..70).chain([96, 97, 128, 134, 210, 251, 257, 360, 509]) {
        let values = noise(length, &mut dice);
        let to = ty(DType::C128, &[length]);
        let operand = complex(DType::C128, &[length], values.clone());
        let forward = fft(FftKind::Fft, &[length as i64], &operand, &to).unwrap();
        near(&numbers(&forward), &defined(&values, &[length], 1, -1.0), 1e-14);
        let back = fft(FftKind::Ifft, &[length as i64], &forward, &to).unwrap();
        near(&numbers(&back), &values, 1e-15 * 4.0);
    }
}

#[test]
fn several_dimensions_and_batches() {
    let mut dice = fastrand::Rng::with_seed(11);
    let sizes = [2, 3, 4, 5];
    let values = noise(120, &mut dice);
    let operand = complex(DType::C128, &sizes, values.clone());
    for over in 1..4 {
        let lengths: Vec<i64> = sizes[4 - over..].iter().map(|size| *size as i64).collect();
        let to = ty(DType::C128, &sizes);
        let forward = fft(FftKind::Fft, &lengths, &operand, &to).unwrap();
        near(&numbers(&forward), &defined(&values, &sizes, over, -1.0), 1e-14);
        let back = fft(FftKind::Ifft, &lengths, &forward, &to).unwrap();
        near(&numbers(&back), &values, 1e-15 * 4.0);
    }
}

#[test]
fn real_transforms_are_half_of_complex_ones() {
    let mut dice = fastrand::Rng::with_seed(12);
    for length in [1, 2, 3, 4, 7, 8, 67, 100] {
        for rows in [1, 3] {
            let real: Vec<f64> = (0..rows * length).map(|_| dice.f64() - 0.5).collect();
            let sizes = [rows, length];
            let half = length / 2 + 1;
            let operand =
                Tensor::from_floats(DType::F64, Shape::new(sizes).unwrap(), real.clone()).unwrap();
            let lengths = [rows as i64, length as i64];
            let forward =
                fft(FftKind::Rfft, &lengths, &operand, &ty(DType::C128, &[rows, half])).unwrap();
            let whole: Vec<Complex64> = real.iter().map(|value| Complex64::from(*value)).collect();
            let whole = defined(&whole, &sizes, 2, -1.0);
            let kept: Vec<Complex64> =
                indices(&[rows, half]).iter().map(|index| whole[flat(index, &sizes)]).collect();
            near(&numbers(&forward), &kept, 1e-14);
            let back = fft(FftKind::Irfft, &lengths, &forward, &ty(DType::F64, &sizes)).unwrap();
            let real: Vec<Complex64> = real.into_iter().map(Complex64::from).collect();
            near(&numbers(&back), &real, 1e-15 * 4.0);
        }
    }
}

#[test]
fn empty_and_wrong_shapes() {
    let empty = complex(DType::C64, &[0, 4], vec![]);
    assert!(fft(FftKind::Fft, &[4], &empty, &ty(DType::C64, &[0, 4])).is_ok());
    let line = complex(DType::C64, &[4], vec![Complex64::new(1.0, 0.0); 4]);
    assert!(fft(FftKind::Fft, &[5], &line, &ty(DType::C64, &[5])).is_err());
    assert!(fft(FftKind::Fft, &[], &line, &ty(DType::C64, &[4])).is_err());
    assert!(fft(FftKind::Irfft, &[9], &line, &ty(DType::F32, &[9])).is_err());
    assert!(fft(FftKind::Fft, &[-4], &line, &ty(DType::C64, &[4])).is_err());
}
