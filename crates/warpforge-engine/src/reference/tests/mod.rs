//! The ops against values computed by hand, against definitions written straight from the specification, and against what
//! XLA computes on a CPU.

mod collective;
mod convolution;
mod fft;
mod golden;
mod hostile;
mod indexing;
mod linear_algebra;
mod normalization;
mod product;
mod quantized;
mod random;
mod reduction;
mod sort;
mod window;

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::{Binary, CompareKind, Direction};
use warpforge_tensor::{Complex64, DType, Elements, Shape, Tensor};

use super::body::Body;
use crate::EngineError;

/// A tensor of any type out of real numbers.
fn tensor(dtype: DType, sizes: &[usize], values: &[f64]) -> Tensor {
    let elements = if dtype.is_float() {
        Elements::Floats(values.to_vec())
    } else if dtype.is_complex() {
        Elements::Complex(values.iter().map(|value| Complex64::from(*value)).collect())
    } else {
        Elements::Integers(values.iter().map(|value| *value as i64).collect())
    };
    Tensor::from_elements(dtype, Shape::new(sizes).unwrap(), &elements).unwrap()
}

/// 0, 1, 2, ... in a shape.
fn counted(dtype: DType, sizes: &[usize]) -> Tensor {
    let count = sizes.iter().product::<usize>();
    tensor(dtype, sizes, &(0..count).map(|value| value as f64).collect::<Vec<_>>())
}

/// Small whole numbers in a shape, the same for one seed.
fn drawn(dtype: DType, sizes: &[usize], dice: &mut fastrand::Rng) -> Tensor {
    let count = sizes.iter().product::<usize>();
    let values: Vec<f64> = (0..count).map(|_| f64::from(dice.i32(-9..10))).collect();
    tensor(dtype, sizes, &values)
}

/// The elements as real numbers.
fn values(tensor: &Tensor) -> Vec<f64> {
    match tensor.elements() {
        Elements::Integers(values) => values.into_iter().map(|value| value as f64).collect(),
        Elements::Floats(values) => values,
        Elements::Complex(values) => values.into_iter().map(|value| value.re).collect(),
    }
}

fn ty(dtype: DType, sizes: &[usize]) -> TensorType {
    TensorType::new(dtype, sizes)
}

/// Whether numbers agree to so many parts of the largest.
fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1e-300_f64, |largest, value| largest.max(value.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / largest;
        assert!(error <= tolerance, "element {place}: found {found}, expected {expected}");
    }
}

/// All indices of a shape, row-major.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for size in sizes {
        all = all
            .iter()
            .flat_map(|index: &Vec<usize>| {
                (0..*size).map(|last| [&index[..], &[last]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// The place of an index in a shape.
fn flat(index: &[usize], sizes: &[usize]) -> usize {
    index.iter().zip(sizes).fold(0, |place, (index, size)| place * size + index)
}

type Call<'a> = Box<dyn FnMut(&[Tensor]) -> Vec<Tensor> + 'a>;

/// A region made in Rust.
struct Region<'a> {
    op: Option<Binary>,
    comparison: Option<(Direction, Option<CompareKind>)>,
    call: Call<'a>,
}

fn uncalled(_: &[Tensor]) -> Vec<Tensor> {
    panic!("a region that is known must not be called")
}

impl Region<'_> {
    /// Known to be one op, so it is never called.
    fn known(op: Binary) -> Self {
        Self { op: Some(op), comparison: None, call: Box::new(uncalled) }
    }

    /// Known to be a comparison, so it is never called.
    fn compares(direction: Direction) -> Self {
        Self { op: None, comparison: Some((direction, None)), call: Box::new(uncalled) }
    }

    /// A function of scalars as real numbers; results have the types of the first arguments.
    fn of(mut function: impl FnMut(&[f64]) -> Vec<f64> + 'static) -> Self {
        let call = move |arguments: &[Tensor]| {
            let scalars: Vec<f64> = arguments.iter().flat_map(values).collect();
            let results = function(&scalars);
            let results = results.iter().zip(arguments);
            results.map(|(value, like)| tensor(like.dtype(), &[], &[*value])).collect()
        };
        Self { op: None, comparison: None, call: Box::new(call) }
    }

    /// A decision about scalars as real numbers.
    fn decides(mut function: impl FnMut(&[f64]) -> bool + 'static) -> Self {
        let call = move |arguments: &[Tensor]| {
            let scalars: Vec<f64> = arguments.iter().flat_map(values).collect();
            vec![tensor(DType::I1, &[], &[f64::from(u8::from(function(&scalars)))])]
        };
        Self { op: None, comparison: None, call: Box::new(call) }
    }
}

impl Body for Region<'_> {
    fn commutative(&self) -> Option<Binary> {
        self.op
    }

    fn comparison(&self) -> Option<(Direction, Option<CompareKind>)> {
        self.comparison
    }

    fn call(&mut self, arguments: &[Tensor]) -> Result<Vec<Tensor>, EngineError> {
        assert!(arguments.iter().all(|argument| argument.shape().rank() == 0));
        Ok((self.call)(arguments))
    }
}
