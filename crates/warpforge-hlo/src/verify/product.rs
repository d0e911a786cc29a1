//! Matrix products and convolutions.

use super::rule::{Expected, Rule, Sees, axes, axis, length, same_size, with_dimensions};
use crate::ir::{Convolution, DotGeneral};
use crate::types::{Dimension, TensorType};

/// The result of a product may have other elements (wider, or quantized), but its shape follows.
fn shape(like: &TensorType, dimensions: Vec<Dimension>) -> Expected {
    Expected::Shapes(vec![with_dimensions(like, dimensions)])
}

pub(super) fn dot(sees: &Sees<'_>) -> Rule<Expected> {
    let [lhs, rhs] = sees.operands()?;
    if !(1..=2).contains(&lhs.rank()) || !(1..=2).contains(&rhs.rank()) {
        return Err(format!("operands must be vectors or matrices, found {lhs} and {rhs}"));
    }
    if !same_size(lhs.dimensions[lhs.rank() - 1], rhs.dimensions[0]) {
        return Err(format!("the last dimension of {lhs} must be the first of {rhs}"));
    }
    let mut dimensions = lhs.dimensions[..lhs.rank() - 1].to_vec();
    dimensions.extend(&rhs.dimensions[1..]);
    Ok(shape(lhs, dimensions))
}

pub(super) fn dot_general(sees: &Sees<'_>, dot: &DotGeneral) -> Rule<Expected> {
    let [lhs, rhs] = sees.operands()?;
    let lhs_batching = axes("lhs_batching_dimensions", &dot.lhs_batching, lhs.rank())?;
    let rhs_batching = axes("rhs_batching_dimensions", &dot.rhs_batching, rhs.rank())?;
    let lhs_contracting = axes("lhs_contracting_dimensions", &dot.lhs_contracting, lhs.rank())?;
    let rhs_contracting = axes("rhs_contracting_dimensions", &dot.rhs_contracting, rhs.rank())?;
    length("rhs_batching_dimensions", rhs_batching.len(), lhs_batching.len())?;
    length("rhs_contracting_dimensions", rhs_contracting.len(), lhs_contracting.len())?;
    for (batching, contracting) in
        [(&lhs_batching, &lhs_contracting), (&rhs_batching, &rhs_contracting)]
    {
        if let Some(both) = batching.iter().find(|axis| contracting.contains(axis)) {
            return Err(format!("dimension {both} is both batching and contracting"));
        }
    }
    let pairs =
        lhs_batching.iter().zip(&rhs_batching).chain(lhs_contracting.iter().zip(&rhs_contracting));
    for (left, right) in pairs {
        if !same_size(lhs.dimensions[*left], rhs.dimensions[*right]) {
            return Err(format!(
                "dimension {left} of {lhs} has size {}, but dimension {right} of {rhs} has {}",
                lhs.dimensions[*left], rhs.dimensions[*right]
            ));
        }
    }
    if !matches!(dot.precision.len(), 0 | 2) {
        return Err(format!("precision must have 2 entries, found {}", dot.precision.len()));
    }
    let free = |tensor: &TensorType, batching: &[usize], contracting: &[usize]| -> Vec<Dimension> {
        (0..tensor.rank())
            .filter(|axis| !batching.contains(axis) && !contracting.contains(axis))
            .map(|axis| tensor.dimensions[axis])
            .collect()
    };
    let mut dimensions: Vec<Dimension> =
        lhs_batching.iter().map(|axis| lhs.dimensions[*axis]).collect();
    dimensions.extend(free(lhs, &lhs_batching, &lhs_contracting));
    dimensions.extend(free(rhs, &rhs_batching, &rhs_contracting));
    Ok(shape(lhs, dimensions))
}

pub(super) fn convolution(
    sees: &Sees<'_>,
    convolution: &Convolution,
    padded: bool,
) -> Rule<Expected> {
    let tensors = sees.tensors()?;
    length("operands", tensors.len(), if padded { 2 } else { 3 })?;
    let (lhs, rhs) = (tensors[0], tensors[1]);
    let rank = lhs.rank();
    if rank < 2 || rhs.rank() != rank {
        return Err(format!("operands must have one rank of at least 2, found {lhs} and {rhs}"));
    }
    let d = &convolution.dimensions;
    let all = |name: &str,
               first: i64,
               second: i64,
               spatial: &[i64]|
     -> Rule<(usize, usize, Vec<usize>)> {
        length(name, spatial.len(), rank - 2)?;
        let mut places = vec![first, second];
        places.extend(spatial);
        axes(name, &places, rank)?;
        Ok((axis(name, first, rank)?, axis(name, second, rank)?, axes(name, spatial, rank)?))
    };
    let (input_batch, input_feature, input_spatial) =
        all("input dimensions", d.input_batch, d.input_feature, &d.input_spatial)?;
    let (kernel_input, kernel_output, kernel_spatial) = all(
        "kernel dimensions",
        d.kernel_input_feature,
        d.kernel_output_feature,
        &d.kernel_spatial,
    )?;
    let (output_batch, output_feature, output_spatial) =
        all("output dimensions", d.output_batch, d.output_feature, &d.output_spatial)?;
    for (name, found) in [
        ("window_strides", convolution.strides.len()),
        ("padding", if padded { convolution.padding.len() } else { rank - 2 }),
        ("lhs_dilation", convolution.lhs_dilation.len()),
        ("rhs_dilation", convolution.rhs_dilation.len()),
        ("window_reversal", convolution.reversal.len()),
    ] {
        length(name, found, rank - 2)?;
    }
    let positive = convolution
        .strides
        .iter()
        .chain(&convolution.lhs_dilation)
        .chain(&convolution.rhs_dilation);
    if let Some(found) = positive.into_iter().find(|value| **value < 1) {
        return Err(format!("strides and dilations must be at least 1, found {found}"));
    }
    let (features, batches) = (convolution.feature_group_count, convolution.batch_group_count);
    if features < 1 || batches < 1 || (features > 1 && batches > 1) {
        return Err(format!(
            "group counts must be at least 1 and only one above, found {features} and {batches}"
        ));
    }
    let (features, batches) = (features as u64, batches as u64);
    let sizes = (
        lhs.dimensions[input_batch].size(),
        lhs.dimensions[input_feature].size(),
        rhs.dimensions[kernel_input].size(),
        rhs.dimensions[kernel_output].size(),
    );
    if let (Some(batch), Some(feature), Some(kernel_feature), Some(outputs)) = sizes {
        if feature != kernel_feature.saturating_mul(features) {
            return Err(format!(
                "{feature} input features do not split into {features} groups of the kernel's {kernel_feature}"
            ));
        }
        if !batch.is_multiple_of(batches)
            || !outputs.is_multiple_of(features)
            || !outputs.is_multiple_of(batches)
        {
            return Err(format!(
                "a batch of {batch} and {outputs} outputs do not split into {batches} and {features} groups"
            ));
        }
    }
    let mut dimensions = vec![Dimension::Dynamic; rank];
    dimensions[output_batch] = lhs.dimensions[input_batch]
        .size()
        .map_or(Dimension::Dynamic, |batch| Dimension::Static(batch / batches));
    dimensions[output_feature] = rhs.dimensions[kernel_output];
    if padded {
        for (index, place) in output_spatial.iter().enumerate() {
            let (Some(input), Some(window)) = (
                lhs.dimensions[input_spatial[index]].size(),
                rhs.dimensions[kernel_spatial[index]].size(),
            ) else {
                continue;
            };
            let (low, high) = convolution.padding[index];
            dimensions[*place] = Dimension::Static(positions(
                dilated(input, convolution.lhs_dilation[index])
                    + i128::from(low)
                    + i128::from(high),
                dilated(window, convolution.rhs_dilation[index]),
                convolution.strides[index],
            )?);
        }
    }
    Ok(shape(lhs, dimensions))
}

/// The size of a dimension with holes between its elements.
pub(super) fn dilated(size: u64, dilation: i64) -> i128 {
    if size == 0 { 0 } else { (i128::from(size) - 1) * i128::from(dilation) + 1 }
}

/// How often a window fits.
pub(super) fn positions(size: i128, window: i128, stride: i64) -> Rule<u64> {
    if size < 0 {
        return Err("negative padding leaves less than nothing".into());
    }
    if window == 0 || window > size {
        return Ok(0);
    }
    u64::try_from((size - window) / i128::from(stride) + 1)
        .map_err(|_| "the result is too large".into())
}
