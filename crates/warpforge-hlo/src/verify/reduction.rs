//! Ops that fold elements together: reductions, windows, sorting, normalization over a batch.

use warpforge_tensor::DType;

use super::product::{dilated, positions};
use super::rule::{
    Expected, Rule, Sees, axes, axis, length, plain, same_shape, same_size, scalar_of,
    with_dimensions, with_dtype, with_element,
};
use crate::ir::Window;
use crate::types::{Dimension, TensorType};

/// Inputs and as many scalars to begin with.
fn inputs_and_inits<'a>(sees: &Sees<'a>) -> Rule<(Vec<&'a TensorType>, Vec<&'a TensorType>)> {
    let mut inputs = sees.tensors()?;
    if inputs.is_empty() || !inputs.len().is_multiple_of(2) {
        return Err(format!(
            "expected inputs and as many initial values, found {} operands",
            inputs.len()
        ));
    }
    let inits = inputs.split_off(inputs.len() / 2);
    for (input, init) in inputs.iter().zip(&inits) {
        if !same_shape(input, inputs[0]) {
            return Err(format!("all inputs must have one shape, found {} and {input}", inputs[0]));
        }
        if init.rank() != 0 {
            return Err(format!("initial values must be scalars, found {init}"));
        }
    }
    Ok((inputs, inits))
}

pub(super) fn reduce(sees: &Sees<'_>, dimensions: &[i64]) -> Rule<Expected> {
    let (inputs, inits) = inputs_and_inits(sees)?;
    let reduced = axes("dimensions", dimensions, inputs[0].rank())?;
    let left: Vec<Dimension> = (0..inputs[0].rank())
        .filter(|axis| !reduced.contains(axis))
        .map(|axis| inputs[0].dimensions[axis])
        .collect();
    // What the region computes with may be wider than the inputs.
    let folded = sees.folded(inputs.len())?;
    for ((scalar, input), init) in folded.iter().zip(&inputs).zip(&inits) {
        if init.element != scalar.element && init.element != input.element {
            return Err(format!("the initial value {init} fits neither {input} nor {scalar}"));
        }
    }
    let results = folded.iter().map(|scalar| with_dimensions(scalar, left.clone()));
    Ok(Expected::tensors(results.collect()))
}

fn window_positions(window: &Window, input: &TensorType) -> Rule<Vec<Dimension>> {
    for (name, found) in [
        ("window_dimensions", window.sizes.len()),
        ("window_strides", window.strides.len()),
        ("base_dilations", window.base_dilations.len()),
        ("window_dilations", window.dilations.len()),
        ("padding", window.padding.len()),
    ] {
        length(name, found, input.rank())?;
    }
    let all = window
        .sizes
        .iter()
        .chain(&window.strides)
        .chain(&window.base_dilations)
        .chain(&window.dilations);
    if let Some(found) = all.into_iter().find(|value| **value < 1) {
        return Err(format!(
            "sizes, strides and dilations of a window must be at least 1, found {found}"
        ));
    }
    (0..input.rank())
        .map(|index| {
            let Some(size) = input.dimensions[index].size() else { return Ok(Dimension::Dynamic) };
            let (low, high) = window.padding[index];
            let size =
                dilated(size, window.base_dilations[index]) + i128::from(low) + i128::from(high);
            let span = dilated(window.sizes[index] as u64, window.dilations[index]);
            positions(size, span, window.strides[index]).map(Dimension::Static)
        })
        .collect()
}

pub(super) fn reduce_window(sees: &Sees<'_>, window: &Window) -> Rule<Expected> {
    let (inputs, _) = inputs_and_inits(sees)?;
    let dimensions = window_positions(window, inputs[0])?;
    let folded = sees.folded(inputs.len())?;
    let results = folded.iter().map(|scalar| with_dimensions(scalar, dimensions.clone()));
    Ok(Expected::tensors(results.collect()))
}

pub(super) fn select_and_scatter(sees: &Sees<'_>, window: &Window) -> Rule<Expected> {
    let [operand, source, init] = sees.operands()?;
    let dimensions = window_positions(window, operand)?;
    let expected = with_dimensions(source, dimensions);
    if !same_shape(source, &expected) {
        return Err(format!("the source must be a {expected}, found {source}"));
    }
    if init.rank() != 0 {
        return Err(format!("the initial value must be a scalar, found {init}"));
    }
    let [select, scatter] = sees.op.regions.as_slice() else {
        return Err(format!("expected 2 regions, found {}", sees.op.regions.len()));
    };
    let scalar = scalar_of(operand);
    sees.region_is(select, &[scalar.clone(), scalar], &[TensorType::new(DType::I1, &[])])?;
    let returned = sees.returned(scatter);
    let Some(folded) = returned.first().and_then(|ty| ty.tensor()).map(scalar_of) else {
        return Err("its second region must return a scalar".into());
    };
    sees.region_is(scatter, &[folded.clone(), folded.clone()], std::slice::from_ref(&folded))?;
    Ok(Expected::tensor(with_element(operand, folded.element)))
}

pub(super) fn sort(sees: &Sees<'_>, dimension: i64) -> Rule<Expected> {
    let inputs = sees.tensors()?;
    let Some(first) = inputs.first() else { return Err("expected at least 1 operand".into()) };
    if let Some(other) = inputs.iter().find(|input| !same_shape(first, input)) {
        return Err(format!("all inputs must have one shape, found {first} and {other}"));
    }
    let rank = first.rank() as i64;
    if dimension < -rank || dimension >= rank.max(1) {
        return Err(format!("dimension must be from {} to {}, found {dimension}", -rank, rank - 1));
    }
    let pairs: Vec<TensorType> =
        inputs.iter().flat_map(|input| [scalar_of(input), scalar_of(input)]).collect();
    sees.region_is(sees.region()?, &pairs, &[TensorType::new(DType::I1, &[])])?;
    Ok(Expected::tensors(inputs.into_iter().cloned().collect()))
}

pub(super) fn top_k(sees: &Sees<'_>, k: i64) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let Some(last) = operand.dimensions.last() else {
        return Err("the operand must have a dimension".into());
    };
    let k = u64::try_from(k).map_err(|_| format!("k must not be negative, found {k}"))?;
    if last.size().is_some_and(|last| k > last) {
        return Err(format!("k must be at most {last}, found {k}"));
    }
    let mut dimensions = operand.dimensions.clone();
    dimensions.pop();
    dimensions.push(Dimension::Static(k));
    let values = with_dimensions(operand, dimensions);
    let indices = with_dtype(&values, DType::I32);
    Ok(Expected::tensors(vec![values, indices]))
}

/// A float tensor and vectors as long as its features.
fn features(operand: &TensorType, feature_index: i64, vectors: &[&TensorType]) -> Rule<TensorType> {
    let place = axis("feature_index", feature_index, operand.rank())?;
    if !plain(operand)?.is_float() {
        return Err(format!("the operand must be of floats, found {operand}"));
    }
    for vector in vectors {
        let fits = vector.rank() == 1
            && vector.element == operand.element
            && same_size(vector.dimensions[0], operand.dimensions[place]);
        if !fits {
            return Err(format!(
                "expected a vector as long as dimension {place} of {operand}, found {vector}"
            ));
        }
    }
    Ok(with_dimensions(operand, vec![operand.dimensions[place]]))
}

pub(super) fn batch_norm_training(sees: &Sees<'_>, feature_index: i64) -> Rule<Expected> {
    let [operand, scale, offset] = sees.operands()?;
    let vector = features(operand, feature_index, &[scale, offset])?;
    Ok(Expected::tensors(vec![operand.clone(), vector.clone(), vector]))
}

pub(super) fn batch_norm_inference(sees: &Sees<'_>, feature_index: i64) -> Rule<Expected> {
    let [operand, scale, offset, mean, variance] = sees.operands()?;
    features(operand, feature_index, &[scale, offset, mean, variance])?;
    Ok(Expected::tensor(operand.clone()))
}

pub(super) fn batch_norm_grad(sees: &Sees<'_>, feature_index: i64) -> Rule<Expected> {
    let [operand, scale, mean, variance, gradient] = sees.operands()?;
    let vector = features(operand, feature_index, &[scale, mean, variance])?;
    if !same_shape(operand, gradient) || operand.element != gradient.element {
        return Err(format!("the gradient must be a {operand}, found {gradient}"));
    }
    Ok(Expected::tensors(vec![operand.clone(), vector.clone(), vector]))
}
