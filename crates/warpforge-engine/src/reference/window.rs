//! Reductions over windows, and the scatter that is the gradient of one.
//!
//! Invariants: a window's elements are folded in row-major order, beginning with the initial value; padding and the holes
//! of dilations hold nothing and are left out. One commutative op is folded on wide elements and rounded once.

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::Window;
use warpforge_tensor::{DType, Elements, Shape, Tensor};

use super::body::Body;
use super::number::{Collected, Comparison, Fold, scalar, step, widened};
use super::place::{advance, shape_of, wrong};
use super::reduction::{initial_state, inputs_and_inits};
use super::sliding::{Axis, Sliding};
use crate::EngineError;

/// Where the windows over a tensor read.
struct Windows {
    axes: Vec<Axis>,
    strides: Vec<usize>,
    outputs: Vec<usize>,
}

impl Windows {
    /// Attributes that are left out are none of padding and 1 of everything else.
    fn new(window: &Window, input: &Shape, output: &Shape) -> Result<Self, EngineError> {
        let rank = input.rank();
        let given = |values: &[i64], axis: usize| match values.is_empty() {
            true => Ok(1),
            false => values.get(axis).copied().ok_or_else(|| wrong("a window lacks a dimension")),
        };
        let padding = |axis: usize| match window.padding.is_empty() {
            true => Ok((0, 0)),
            false => {
                window.padding.get(axis).copied().ok_or_else(|| wrong("a window lacks padding"))
            }
        };
        if output.rank() != rank {
            return Err(wrong(format!("windows over {input} do not make {output}")));
        }
        let axes = (0..rank).map(|axis| {
            let sliding = Sliding {
                stride: given(&window.strides, axis)?,
                padding: padding(axis)?,
                base_dilation: given(&window.base_dilations, axis)?,
                window_dilation: given(&window.dilations, axis)?,
                taps: given(&window.sizes, axis)?,
            };
            Axis::new(input.sizes()[axis], output.sizes()[axis], sliding)
        });
        Ok(Self {
            axes: axes.collect::<Result<_, _>>()?,
            strides: input.strides(),
            outputs: output.sizes().to_vec(),
        })
    }

    /// Visits each window, in row-major order, with the places it reads along each dimension.
    fn each(
        &self,
        mut visit: impl FnMut(&[Vec<usize>]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if self.outputs.contains(&0) {
            return Ok(());
        }
        let rank = self.axes.len();
        let mut index = vec![0; rank];
        let mut shown = vec![usize::MAX; rank];
        let mut places = vec![Vec::new(); rank];
        loop {
            for axis in 0..rank {
                if shown[axis] != index[axis] {
                    shown[axis] = index[axis];
                    self.axes[axis].inputs(index[axis], self.strides[axis], &mut places[axis]);
                }
            }
            visit(&places)?;
            if !advance(&mut index, &self.outputs) {
                return Ok(());
            }
        }
    }
}

/// Visits all combinations of places along each dimension, row-major.
fn combine<E>(
    places: &[Vec<usize>],
    start: usize,
    visit: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    match places {
        [] => visit(start),
        [last] => last.iter().try_for_each(|place| visit(start + place)),
        [first, rest @ ..] => {
            first.iter().try_for_each(|place| combine(rest, start + place, visit))
        }
    }
}

/// Folds what each window sees.
pub(super) fn reduce_window(
    window: &Window,
    operands: &[Tensor],
    results: &[&TensorType],
    body: &mut dyn Body,
) -> Result<Vec<Tensor>, EngineError> {
    let (inputs, inits) = inputs_and_inits(operands, results)?;
    let shape = shape_of(results[0])?;
    let windows = Windows::new(window, inputs[0].shape(), &shape)?;
    if let ([input], [init], [result]) = (inputs, inits, results)
        && let Some(fold) = Fold::of_body(body, result.storage())
    {
        let dtype = result.storage();
        let elements = match (widened(input, dtype)?, widened(init, dtype)?, fold) {
            (Elements::Integers(values), Elements::Integers(init), Fold::Integers(fold)) => {
                Elements::Integers(fold_windows(&windows, &values, &init, fold)?)
            }
            (Elements::Floats(values), Elements::Floats(init), Fold::Floats(fold)) => {
                Elements::Floats(fold_windows(&windows, &values, &init, fold)?)
            }
            (Elements::Complex(values), Elements::Complex(init), Fold::Complex(fold)) => {
                Elements::Complex(fold_windows(&windows, &values, &init, fold)?)
            }
            _ => return Err(wrong("a reduction folds elements of different kinds")),
        };
        return Ok(vec![Tensor::from_elements(dtype, shape, &elements)?]);
    }
    let dtypes: Vec<DType> = results.iter().map(|result| result.storage()).collect();
    let mut collected: Vec<Collected> = dtypes.iter().map(|dtype| Collected::new(*dtype)).collect();
    let initial = initial_state(inits, results)?;
    windows.each(|places| {
        let mut state = initial.clone();
        combine(places, 0, &mut |place| {
            let next = inputs.iter().zip(&dtypes);
            let next = next.map(|(input, dtype)| scalar(input, place, *dtype));
            state = step(body, std::mem::take(&mut state), next)?;
            Ok::<(), EngineError>(())
        })?;
        collected.iter_mut().zip(&state).try_for_each(|(all, value)| all.push(value))
    })?;
    let finished = collected.into_iter().zip(results);
    finished.map(|(collected, result)| collected.finish(shape_of(result)?)).collect()
}

fn fold_windows<T: Copy>(
    windows: &Windows,
    values: &[T],
    init: &[T],
    fold: fn(T, T) -> T,
) -> Result<Vec<T>, EngineError> {
    let init = *init.first().ok_or_else(|| wrong("an initial value is missing"))?;
    let mut sums = Vec::new();
    windows.each(|places| {
        let mut sum = init;
        combine(places, 0, &mut |place| {
            sum = fold(sum, values[place]);
            Ok::<(), EngineError>(())
        })?;
        sums.push(sum);
        Ok(())
    })?;
    Ok(sums)
}

/// Adds each element of the source to the element of the operand's window that `select` prefers; a window that sees
/// nothing adds nothing.
pub(super) fn select_and_scatter(
    window: &Window,
    operand: &Tensor,
    source: &Tensor,
    init: &Tensor,
    result: &TensorType,
    select: &mut dyn Body,
    scatter: &mut dyn Body,
) -> Result<Tensor, EngineError> {
    let (shape, dtype) = (shape_of(result)?, result.storage());
    if shape != *operand.shape() {
        return Err(wrong(format!("the gradient of {} cannot be {result}", operand.shape())));
    }
    let windows = Windows::new(window, operand.shape(), source.shape())?;
    let targets = selected(&windows, operand, select)?;
    if let Some(fold) = Fold::of_body(scatter, dtype) {
        let elements = match (widened(source, dtype)?, widened(init, dtype)?, fold) {
            (Elements::Integers(values), Elements::Integers(init), Fold::Integers(fold)) => {
                Elements::Integers(scattered(&values, &init, &targets, &shape, fold)?)
            }
            (Elements::Floats(values), Elements::Floats(init), Fold::Floats(fold)) => {
                Elements::Floats(scattered(&values, &init, &targets, &shape, fold)?)
            }
            (Elements::Complex(values), Elements::Complex(init), Fold::Complex(fold)) => {
                Elements::Complex(scattered(&values, &init, &targets, &shape, fold)?)
            }
            _ => return Err(wrong("a scatter folds elements of different kinds")),
        };
        return Ok(Tensor::from_elements(dtype, shape, &elements)?);
    }
    let mut values = vec![scalar(init, 0, dtype)?; shape.elements()];
    for (place, target) in targets.iter().enumerate() {
        let Some(target) = target else { continue };
        let state = vec![values[*target].clone()];
        let mut after = step(scatter, state, [scalar(source, place, dtype)])?;
        values[*target] = after.remove(0);
    }
    let mut collected = Collected::new(dtype);
    values.iter().try_for_each(|value| collected.push(value))?;
    collected.finish(shape)
}

/// The element each window chooses: the first, unless the selection prefers a later one.
fn selected(
    windows: &Windows,
    operand: &Tensor,
    select: &mut dyn Body,
) -> Result<Vec<Option<usize>>, EngineError> {
    let dtype = operand.dtype();
    let quick = Comparison::of_body(select, dtype).map(|order| (order, operand.elements()));
    let mut targets = Vec::new();
    windows.each(|places| {
        let mut chosen: Option<usize> = None;
        combine(places, 0, &mut |place| {
            let Some(best) = chosen else {
                chosen = Some(place);
                return Ok(());
            };
            let keeps = match &quick {
                Some((order, elements)) => order.holds(elements, best, place),
                None => {
                    let pair = [scalar(operand, best, dtype)?, scalar(operand, place, dtype)?];
                    truth(&select.call(&pair)?)?
                }
            };
            if !keeps {
                chosen = Some(place);
            }
            Ok::<(), EngineError>(())
        })?;
        targets.push(chosen);
        Ok(())
    })?;
    Ok(targets)
}

/// What a region that decides has decided.
pub(super) fn truth(results: &[Tensor]) -> Result<bool, EngineError> {
    match results {
        [answer] if answer.dtype() == DType::I1 && answer.shape().rank() == 0 => {
            Ok(answer.bytes() == [1])
        }
        _ => Err(wrong("a region that decides must give one boolean")),
    }
}

fn scattered<T: Copy>(
    source: &[T],
    init: &[T],
    targets: &[Option<usize>],
    shape: &Shape,
    fold: fn(T, T) -> T,
) -> Result<Vec<T>, EngineError> {
    let init = *init.first().ok_or_else(|| wrong("an initial value is missing"))?;
    let mut values = vec![init; shape.elements()];
    for (value, target) in source.iter().zip(targets) {
        if let Some(target) = target {
            values[*target] = fold(values[*target], *value);
        }
    }
    Ok(values)
}
