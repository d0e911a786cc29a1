//! Decompositions and triangular systems.

use warpforge_hlo::ir::Transpose;
use warpforge_tensor::{Complex64, DType, Elements, Shape, Tensor};

use super::{close, tensor, ty, values};
use crate::reference::linear_algebra::{Triangle, cholesky, triangular_solve};

fn complex(sizes: &[usize], values: Vec<Complex64>) -> Tensor {
    Tensor::from_elements(DType::C128, Shape::new(sizes).unwrap(), &Elements::Complex(values))
        .unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<Complex64> {
    match tensor.elements() {
        Elements::Complex(values) => values,
        other => panic!("expected complex numbers, found {other:?}"),
    }
}

fn noise(count: usize, dice: &mut fastrand::Rng) -> Vec<Complex64> {
    (0..count).map(|_| Complex64::new(dice.f64() - 0.5, dice.f64() - 0.5)).collect()
}

/// The product of two square matrices.
fn times(
    a: &[Complex64],
    b: &[Complex64],
    rows: usize,
    inner: usize,
    columns: usize,
) -> Vec<Complex64> {
    let mut made = vec![];
    for row in 0..rows {
        for column in 0..columns {
            made.push(
                (0..inner).map(|place| a[row * inner + place] * b[place * columns + column]).sum(),
            );
        }
    }
    made
}

fn adjoint(a: &[Complex64], size: usize) -> Vec<Complex64> {
    (0..size * size).map(|place| a[place % size * size + place / size].conj()).collect()
}

fn near(found: &[Complex64], expected: &[Complex64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).norm() < 1e-11, "{found} is not {expected}");
    }
}

#[test]
fn the_specifications_examples() {
    let a = tensor(DType::F32, &[3, 3], &[1.0, 2.0, 3.0, 2.0, 20.0, 26.0, 3.0, 26.0, 70.0]);
    let to = ty(DType::F32, &[3, 3]);
    let lower = cholesky(true, &a, &to).unwrap();
    assert_eq!(values(&lower), [1.0, 0.0, 0.0, 2.0, 4.0, 0.0, 3.0, 5.0, 6.0]);
    let upper = cholesky(false, &a, &to).unwrap();
    assert_eq!(values(&upper), [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 0.0, 0.0, 6.0]);
    let b = tensor(DType::F32, &[3, 3], &[2.0, 0.0, 0.0, 4.0, 8.0, 0.0, 6.0, 10.0, 12.0]);
    let triangle =
        Triangle { left_side: true, lower: true, unit_diagonal: false, transpose: Transpose::No };
    let x = triangular_solve(triangle, &lower, &b, &to).unwrap();
    assert_eq!(values(&x), [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]);
}

#[test]
fn factors_of_complex_batches_multiply_back() {
    let mut dice = fastrand::Rng::with_seed(13);
    let (size, batches) = (4, 3);
    let mut all = vec![];
    for _ in 0..batches {
        let root = noise(size * size, &mut dice);
        let mut matrix = times(&root, &adjoint(&root, size), size, size, size);
        (0..size).for_each(|place| matrix[place * size + place] += 0.5);
        all.extend(matrix);
    }
    for lower in [true, false] {
        // The other triangle must not be read.
        let mut given = all.clone();
        for (place, value) in given.iter_mut().enumerate() {
            let (row, column) = (place / size % size, place % size);
            if (lower && column > row) || (!lower && column < row) {
                *value = Complex64::new(f64::NAN, f64::NAN);
            }
        }
        let sizes = [batches, size, size];
        let found = cholesky(lower, &complex(&sizes, given), &ty(DType::C128, &sizes)).unwrap();
        for (factor, matrix) in numbers(&found).chunks(size * size).zip(all.chunks(size * size)) {
            let other = adjoint(factor, size);
            let (left, right) = if lower { (factor, &other[..]) } else { (&other[..], factor) };
            near(&times(left, right, size, size, size), matrix);
        }
    }
}

#[test]
fn what_is_not_positive_definite_is_nan() {
    let a = tensor(DType::F32, &[2, 2, 2], &[1.0, 2.0, 2.0, 1.0, 4.0, 0.0, 0.0, 9.0]);
    let found = values(&cholesky(true, &a, &ty(DType::F32, &[2, 2, 2])).unwrap());
    assert!(found[0].is_nan() && found[2].is_nan() && found[3].is_nan());
    assert_eq!((found[1], &found[4..]), (0.0, &[2.0, 0.0, 0.0, 3.0][..]));
}

#[test]
fn every_kind_of_system_is_solved() {
    let mut dice = fastrand::Rng::with_seed(14);
    let (size, other, batches) = (4, 3, 2);
    for left_side in [true, false] {
        for lower in [true, false] {
            for unit_diagonal in [true, false] {
                for transpose in [Transpose::No, Transpose::Yes, Transpose::Adjoint] {
                    let triangle = Triangle { left_side, lower, unit_diagonal, transpose };
                    let (rows, columns) = if left_side { (size, other) } else { (other, size) };
                    let mut a = noise(batches * size * size, &mut dice);
                    let mut meant = a.clone();
                    for place in 0..a.len() {
                        let (row, column) = (place / size % size, place % size);
                        if row == column {
                            a[place] += 1.5;
                            meant[place] =
                                if unit_diagonal { Complex64::new(1.0, 0.0) } else { a[place] };
                        } else if lower != (column < row) {
                            // What must not be read.
                            a[place] = Complex64::new(f64::NAN, 0.0);
                            meant[place] = Complex64::new(0.0, 0.0);
                        }
                    }
                    let b = noise(batches * rows * columns, &mut dice);
                    let sizes = [batches, rows, columns];
                    let found = triangular_solve(
                        triangle,
                        &complex(&[batches, size, size], a),
                        &complex(&sizes, b.clone()),
                        &ty(DType::C128, &sizes),
                    );
                    let found = numbers(&found.unwrap());
                    for batch in 0..batches {
                        let matrix = &meant[batch * size * size..][..size * size];
                        let matrix: Vec<Complex64> = match transpose {
                            Transpose::No => matrix.to_vec(),
                            Transpose::Adjoint => adjoint(matrix, size),
                            Transpose::Yes => {
                                adjoint(matrix, size).iter().map(|value| value.conj()).collect()
                            }
                        };
                        let x = &found[batch * rows * columns..][..rows * columns];
                        let product = match left_side {
                            true => times(&matrix, x, size, size, columns),
                            false => times(x, &matrix, rows, size, size),
                        };
                        near(&product, &b[batch * rows * columns..][..rows * columns]);
                    }
                }
            }
        }
    }
}

#[test]
fn narrow_floats_are_solved_wide() {
    let triangle =
        Triangle { left_side: true, lower: true, unit_diagonal: false, transpose: Transpose::No };
    let a = tensor(DType::BF16, &[2, 2], &[3.0, 0.0, 1.0, 3.0]);
    let b = tensor(DType::BF16, &[2, 1], &[1.0, 1.0]);
    let found = triangular_solve(triangle, &a, &b, &ty(DType::BF16, &[2, 1])).unwrap();
    close(&values(&found), &[1.0 / 3.0, 2.0 / 9.0], 0.004);
}

#[test]
fn what_does_not_fit_is_refused() {
    let triangle =
        Triangle { left_side: true, lower: true, unit_diagonal: false, transpose: Transpose::No };
    let (a, b) = (tensor(DType::F32, &[2, 2], &[1.0; 4]), tensor(DType::F32, &[3, 1], &[1.0; 3]));
    assert!(triangular_solve(triangle, &a, &b, &ty(DType::F32, &[3, 1])).is_err());
    assert!(cholesky(true, &b, &ty(DType::F32, &[3, 1])).is_err());
    assert!(cholesky(true, &tensor(DType::F32, &[], &[1.0]), &ty(DType::F32, &[])).is_err());
}
