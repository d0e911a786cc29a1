//! Reductions over whole dimensions, and the largest elements of rows.
//!
//! Invariants: elements are folded in row-major order, beginning with the initial value; one commutative op is folded on
//! wide elements and rounded once at the end, any other region is called once for each element.

use std::cmp::Ordering;

use warpforge_hlo::TensorType;
use warpforge_tensor::{DType, Elements, Kind, Tensor};

use super::body::Body;
use super::number::{Collected, Fold, scalar, step, widened};
use super::place::{axes, chosen, offsets, other_axes, shape_of, wrong};
use crate::EngineError;

/// Inputs and as many initial values, all inputs of one shape.
pub(super) fn inputs_and_inits<'a>(
    operands: &'a [Tensor],
    results: &[&TensorType],
) -> Result<(&'a [Tensor], &'a [Tensor]), EngineError> {
    let (inputs, inits) = operands.split_at(operands.len() / 2);
    let same = inputs.iter().all(|input| input.shape() == inputs[0].shape());
    if inputs.is_empty() || inputs.len() != inits.len() || inputs.len() != results.len() || !same {
        return Err(wrong(format!(
            "{} operands and {} results do not fit a reduction",
            operands.len(),
            results.len()
        )));
    }
    Ok((inputs, inits))
}

/// The initial values as what the region takes.
pub(super) fn initial_state(
    inits: &[Tensor],
    results: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    inits.iter().zip(results).map(|(init, result)| scalar(init, 0, result.storage())).collect()
}

/// Folds inputs over some of their dimensions.
pub(super) fn reduce(
    dimensions: &[i64],
    operands: &[Tensor],
    results: &[&TensorType],
    body: &mut dyn Body,
) -> Result<Vec<Tensor>, EngineError> {
    let (inputs, inits) = inputs_and_inits(operands, results)?;
    let shape = inputs[0].shape();
    let reduced = axes(dimensions, shape.rank())?;
    let kept = other_axes(&reduced, shape.rank());
    // The order of the walk is that of the tensor, whatever the order of the attribute.
    let reduced = other_axes(&kept, shape.rank());
    let strides = shape.strides();
    let places = |axes: &[usize]| offsets(&chosen(shape.sizes(), axes), &chosen(&strides, axes));
    let walk = Walk {
        kept: places(&kept),
        reduced: places(&reduced),
        inner: reduced.last() > kept.last(),
    };
    if let ([input], [init], [result]) = (inputs, inits, results)
        && let Some(fold) = Fold::of_body(body, result.storage())
    {
        let dtype = result.storage();
        let elements = match (widened(input, dtype)?, widened(init, dtype)?, fold) {
            (Elements::Integers(values), Elements::Integers(init), Fold::Integers(fold)) => {
                Elements::Integers(walk.fold(&values, &init, fold)?)
            }
            (Elements::Floats(values), Elements::Floats(init), Fold::Floats(fold)) => {
                Elements::Floats(walk.fold(&values, &init, fold)?)
            }
            (Elements::Complex(values), Elements::Complex(init), Fold::Complex(fold)) => {
                Elements::Complex(walk.fold(&values, &init, fold)?)
            }
            _ => return Err(wrong("a reduction folds elements of different kinds")),
        };
        return Ok(vec![Tensor::from_elements(dtype, shape_of(result)?, &elements)?]);
    }
    let dtypes: Vec<DType> = results.iter().map(|result| result.storage()).collect();
    let mut collected: Vec<Collected> = dtypes.iter().map(|dtype| Collected::new(*dtype)).collect();
    let initial = initial_state(inits, results)?;
    for start in &walk.kept {
        let mut state = initial.clone();
        for offset in &walk.reduced {
            let next = inputs.iter().zip(&dtypes);
            let next = next.map(|(input, dtype)| scalar(input, start + offset, *dtype));
            state = step(body, state, next)?;
        }
        for (collected, value) in collected.iter_mut().zip(&state) {
            collected.push(value)?;
        }
    }
    let finished = collected.into_iter().zip(results);
    finished.map(|(collected, result)| collected.finish(shape_of(result)?)).collect()
}

/// Where the kept elements begin, and where those folded into each lie from there.
struct Walk {
    kept: Vec<usize>,
    reduced: Vec<usize>,
    /// Whether neighbours in memory are folded together.
    inner: bool,
}

impl Walk {
    fn fold<T: Copy>(
        &self,
        values: &[T],
        init: &[T],
        fold: fn(T, T) -> T,
    ) -> Result<Vec<T>, EngineError> {
        let init = *init.first().ok_or_else(|| wrong("an initial value is missing"))?;
        if self.inner {
            let sum = |start: &usize| {
                self.reduced.iter().fold(init, |sum, offset| fold(sum, values[start + offset]))
            };
            return Ok(self.kept.iter().map(sum).collect());
        }
        // The same order for each result, but neighbours in memory are visited together.
        let mut sums = vec![init; self.kept.len()];
        for offset in &self.reduced {
            for (sum, start) in sums.iter_mut().zip(&self.kept) {
                *sum = fold(*sum, values[start + offset]);
            }
        }
        Ok(sums)
    }
}

/// The `k` largest (or smallest) elements of each row, and where they are; of equal ones the first comes first.
///
/// Floats are in total order: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
pub(super) fn top_k(
    k: i64,
    largest: bool,
    operand: &Tensor,
    results: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    let [values, indices] = results else { return Err(wrong("top_k has two results")) };
    let length = *operand.shape().sizes().last().ok_or_else(|| wrong("top_k takes rows"))?;
    let k = usize::try_from(k)
        .ok()
        .filter(|k| *k <= length)
        .ok_or_else(|| wrong(format!("{k} elements cannot be chosen among {length}")))?;
    let elements = operand.elements();
    let unsigned = operand.dtype().kind() == Kind::Unsigned;
    let order = |a: usize, b: usize| -> Ordering {
        match &elements {
            Elements::Integers(values) if unsigned => (values[a] as u64).cmp(&(values[b] as u64)),
            Elements::Integers(values) => values[a].cmp(&values[b]),
            Elements::Floats(values) => values[a].total_cmp(&values[b]),
            Elements::Complex(_) => Ordering::Equal,
        }
    };
    if matches!(elements, Elements::Complex(_)) {
        return Err(EngineError::Unsupported("top_k of complex numbers".into()));
    }
    let rows = operand.shape().elements().checked_div(length).unwrap_or(0);
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let mut row: Vec<usize> = (row * length..(row + 1) * length).collect();
        row.sort_by(|a, b| if largest { order(*b, *a) } else { order(*a, *b) });
        for place in &row[..k] {
            bytes.extend_from_slice(operand.element_bytes(*place));
            places.push((place % length) as i64);
        }
    }
    Ok(vec![
        Tensor::new(operand.dtype(), shape_of(values)?, bytes)?,
        Tensor::from_integers(indices.storage(), shape_of(indices)?, places)?,
    ])
}
