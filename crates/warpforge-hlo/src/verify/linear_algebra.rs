//! Decompositions, Fourier transforms and random numbers.

use warpforge_tensor::DType;

use super::rule::{
    Expected, Rule, Sees, is_index, plain, same_shape, same_size, with_dimensions, with_dtype,
};
use crate::ir::FftKind;
use crate::types::{Dimension, TensorType, Type};

fn square(tensor: &TensorType) -> Rule {
    let dtype = plain(tensor)?;
    let rank = tensor.rank();
    let fits = rank >= 2
        && (dtype.is_float() || dtype.is_complex())
        && same_size(tensor.dimensions[rank - 1], tensor.dimensions[rank - 2]);
    if fits {
        Ok(())
    } else {
        Err(format!("expected square matrices of floats or complex numbers, found {tensor}"))
    }
}

pub(super) fn cholesky(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    square(operand)?;
    Ok(Expected::tensor(operand.clone()))
}

pub(super) fn triangular_solve(sees: &Sees<'_>, left_side: bool) -> Rule<Expected> {
    let [a, b] = sees.operands()?;
    square(a)?;
    let rank = a.rank();
    let fits = b.rank() == rank
        && a.element == b.element
        && (0..rank - 2).all(|axis| same_size(a.dimensions[axis], b.dimensions[axis]))
        && same_size(
            a.dimensions[rank - 1],
            b.dimensions[if left_side { rank - 2 } else { rank - 1 }],
        );
    if !fits {
        return Err(format!("{b} does not fit the matrices {a}"));
    }
    Ok(Expected::tensor(b.clone()))
}

pub(super) fn fft(sees: &Sees<'_>, kind: FftKind, lengths: &[i64]) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let rank = operand.rank();
    if !(1..=3).contains(&lengths.len())
        || lengths.len() > rank
        || lengths.iter().any(|length| *length < 0)
    {
        return Err(format!(
            "fft_length must have 1 to 3 entries and no more than {operand} has dimensions, found {lengths:?}"
        ));
    }
    let dtype = plain(operand)?;
    let (takes_complex, gives) = match kind {
        FftKind::Fft | FftKind::Ifft => (true, Some(dtype)),
        FftKind::Rfft => (false, dtype.complex_of()),
        FftKind::Irfft => (true, Some(dtype.part())),
    };
    let Some(gives) = gives.filter(|_| dtype.is_complex() == takes_complex) else {
        return Err(format!("{} does not take elements of type {dtype}", kind.name()));
    };
    let first = rank - lengths.len();
    let half = lengths[lengths.len() - 1] as u64 / 2 + 1;
    for (index, length) in lengths.iter().enumerate() {
        let last = index == lengths.len() - 1;
        let expected = if last && kind == FftKind::Irfft { half } else { *length as u64 };
        let size = operand.dimensions[first + index];
        if !same_size(size, Dimension::Static(expected)) {
            return Err(format!(
                "dimension {} of {operand} must have size {expected}",
                first + index
            ));
        }
    }
    let mut dimensions = operand.dimensions.clone();
    match kind {
        FftKind::Rfft => dimensions[rank - 1] = Dimension::Static(half),
        FftKind::Irfft => {
            dimensions[rank - 1] = Dimension::Static(lengths[lengths.len() - 1] as u64);
        }
        FftKind::Fft | FftKind::Ifft => {}
    }
    Ok(Expected::tensor(with_dtype(&with_dimensions(operand, dimensions), gives)))
}

pub(super) fn rng(sees: &Sees<'_>) -> Rule<Expected> {
    let [a, b, shape] = sees.operands()?;
    if a.rank() != 0 || b.rank() != 0 || a.element != b.element {
        return Err(format!("both parameters must be scalars of one type, found {a} and {b}"));
    }
    if shape.rank() != 1 || !is_index(shape) {
        return Err(format!("the shape must be a vector of integers, found {shape}"));
    }
    let result = sees.result()?;
    let fits = result.element == a.element
        && same_size(shape.dimensions[0], Dimension::Static(result.rank() as u64));
    if fits {
        Ok(Expected::Stated)
    } else {
        Err(format!(
            "the result must be of {} with the rank the shape says, found {result}",
            a.element
        ))
    }
}

pub(super) fn rng_bit_generator(sees: &Sees<'_>) -> Rule<Expected> {
    let [state] = sees.operands()?;
    if state.rank() != 1 || state.dtype() != Some(DType::U64) && state.dtype() != Some(DType::U32) {
        return Err(format!("the state must be a vector of ui32 or ui64, found {state}"));
    }
    match sees.result_types()?.as_slice() {
        [Type::Tensor(next), Type::Tensor(_)]
            if same_shape(next, state) && next.element == state.element =>
        {
            Ok(Expected::Stated)
        }
        _ => Err(format!("the results must be the next state, a {state}, and the numbers")),
    }
}
