//! Matrix products of every layout: `dot`, `dot_general`, `einsum`, `unary_einsum`.
//!
//! All are one thing: dimensions have labels; equal labels move together, and labels missing from the result are summed
//! over. Sums are taken in f64 (integers: wrapping) and rounded once.

use warpforge_hlo::ir::DotGeneral;
use warpforge_hlo::{Attribute, TensorType};
use warpforge_tensor::{Complex64, DType, Elements, Shape, Tensor, small_float};

use super::multiplication::{Extent, Strided, multiply};
use super::number::{Number, widened};
use super::place::{axes, offsets, other_axes, permuted, shape_of, wrong};
use crate::EngineError;

/// What stands for a dimension; equal ones have equal sizes.
type Label = usize;

/// Vectors and matrices: the last dimension of the left meets the first of the right.
pub(super) fn dot(lhs: &Tensor, rhs: &Tensor, result: &TensorType) -> Result<Tensor, EngineError> {
    let last = lhs.shape().rank().checked_sub(1).ok_or_else(|| wrong("a scalar has no product"))?;
    let numbers = DotGeneral {
        lhs_contracting: vec![last as i64],
        rhs_contracting: vec![0],
        ..DotGeneral::default()
    };
    dot_general(&numbers, lhs, rhs, result)
}

/// Products with any batching and contracting dimensions.
pub(super) fn dot_general(
    numbers: &DotGeneral,
    lhs: &Tensor,
    rhs: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (lhs_rank, rhs_rank) = (lhs.shape().rank(), rhs.shape().rank());
    let shared = [&numbers.lhs_batching[..], &numbers.lhs_contracting].concat();
    let lhs_shared = axes(&shared, lhs_rank)?;
    let shared = [&numbers.rhs_batching[..], &numbers.rhs_contracting].concat();
    let rhs_shared = axes(&shared, rhs_rank)?;
    if lhs_shared.len() != rhs_shared.len()
        || numbers.lhs_batching.len() != numbers.rhs_batching.len()
    {
        return Err(wrong("the operands of a product share different dimensions"));
    }
    // Labels: those shared come first, in their order; then the others of the left, then those of the right.
    let mut lhs_labels = vec![0; lhs_rank];
    let mut rhs_labels = vec![0; rhs_rank];
    for (label, (left, right)) in lhs_shared.iter().zip(&rhs_shared).enumerate() {
        lhs_labels[*left] = label;
        rhs_labels[*right] = label;
    }
    let mut output: Vec<Label> = (0..numbers.lhs_batching.len()).collect();
    let mut next = lhs_shared.len();
    let sides = [(&mut lhs_labels, &lhs_shared), (&mut rhs_labels, &rhs_shared)];
    for (labels, shared) in sides {
        for axis in other_axes(shared, labels.len()) {
            labels[axis] = next;
            output.push(next);
            next += 1;
        }
    }
    let lhs = rounded(lhs, numbers.algorithm.as_ref(), "lhs")?;
    let rhs = rounded(rhs, numbers.algorithm.as_ref(), "rhs")?;
    contract(&lhs, &lhs_labels, &rhs, &rhs_labels, &output, result)
}

/// A product as `"ij,jk->ik"`; `...` stands for any further dimensions.
pub(super) fn einsum(
    config: &str,
    lhs: &Tensor,
    rhs: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let ranks = [lhs.shape().rank(), rhs.shape().rank()];
    let (inputs, output) = labels_of(config, &ranks)?;
    contract(lhs, &inputs[0], rhs, &inputs[1], &output, result)
}

/// A transposition, sum or diagonal as `"ij->i"`.
pub(super) fn unary_einsum(
    config: &str,
    operand: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (inputs, output) = labels_of(config, &[operand.shape().rank()])?;
    let one = match operand.elements() {
        Elements::Integers(_) => Elements::Integers(vec![1]),
        Elements::Floats(_) => Elements::Floats(vec![1.0]),
        Elements::Complex(_) => Elements::Complex(vec![Complex64::new(1.0, 0.0)]),
    };
    let one = Tensor::from_elements(operand.dtype(), Shape::scalar(), &one)?;
    contract(operand, &inputs[0], &one, &[], &output, result)
}

/// The labels of the operands and of the result.
fn labels_of(config: &str, ranks: &[usize]) -> Result<(Vec<Vec<Label>>, Vec<Label>), EngineError> {
    let bad = || wrong(format!("{config:?} does not say how operands of ranks {ranks:?} meet"));
    let config: String = config.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (inputs, output) = config.split_once("->").ok_or_else(bad)?;
    let inputs: Vec<&str> = inputs.split(',').collect();
    if inputs.len() != ranks.len() {
        return Err(bad());
    }
    // Further dimensions have labels above every letter's, aligned at the last.
    let further = |text: &str, rank: usize| match text.contains("...") {
        true => rank.checked_sub(text.chars().count() - 3),
        false => (text.chars().count() == rank).then_some(0),
    };
    let mut most = 0;
    let mut counts = Vec::new();
    for (text, rank) in inputs.iter().zip(ranks) {
        let count = further(text, *rank).ok_or_else(bad)?;
        most = most.max(count);
        counts.push(count);
    }
    let expand = |text: &str, count: usize| -> Result<Vec<Label>, EngineError> {
        let ellipsis = (most - count..most).map(|place| char::MAX as usize + 1 + place);
        let letters = |part: &str| part.chars().map(|letter| letter as usize).collect::<Vec<_>>();
        let Some((before, after)) = text.split_once("...") else {
            return Ok(letters(text));
        };
        if after.contains('.') {
            return Err(bad());
        }
        Ok([letters(before), ellipsis.collect(), letters(after)].concat())
    };
    let labels = inputs.iter().zip(counts).map(|(text, count)| expand(text, count));
    Ok((labels.collect::<Result<_, _>>()?, expand(output, most)?))
}

/// The stride of a label in an operand: that of its dimension, or the sum of several for a diagonal.
fn stride_of(label: Label, labels: &[Label], strides: &[usize]) -> usize {
    labels.iter().zip(strides).filter(|(own, _)| **own == label).map(|(_, stride)| stride).sum()
}

/// The product of two operands whose dimensions have labels.
fn contract(
    lhs: &Tensor,
    lhs_labels: &[Label],
    rhs: &Tensor,
    rhs_labels: &[Label],
    output: &[Label],
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let shape = shape_of(result)?;
    let sized = |labels: &[Label], tensor: &Tensor| -> Vec<(Label, usize)> {
        labels.iter().copied().zip(tensor.shape().sizes().iter().copied()).collect()
    };
    let known = [sized(lhs_labels, lhs), sized(rhs_labels, rhs)].concat();
    let size_of = |label: &Label| known.iter().find(|(own, _)| own == label).map(|(_, size)| *size);
    if known.iter().any(|(label, size)| size_of(label) != Some(*size)) {
        return Err(wrong("dimensions that meet in a product have different sizes"));
    }
    // Each label moves along batches, rows, columns or the sum.
    let (mut batches, mut rows, mut columns, mut depth) = (vec![], vec![], vec![], vec![]);
    for label in output {
        match (lhs_labels.contains(label), rhs_labels.contains(label)) {
            (true, true) => batches.push(*label),
            (true, false) => rows.push(*label),
            (false, true) => columns.push(*label),
            (false, false) => return Err(wrong("a dimension of a product comes from nowhere")),
        }
    }
    for label in lhs_labels.iter().chain(rhs_labels) {
        if !output.contains(label) && !depth.contains(label) {
            depth.push(*label);
        }
    }
    let made = [&batches[..], &rows, &columns].concat();
    let sizes_of = |labels: &[Label]| labels.iter().filter_map(size_of).collect::<Vec<usize>>();
    let made_sizes = sizes_of(&made);
    let twice = (1..output.len()).any(|place| output[..place].contains(&output[place]));
    if sizes_of(output) != shape.sizes() || twice {
        return Err(wrong(format!("a product of sizes {made_sizes:?} does not fill {result}")));
    }
    // Only sums over dimensions that do not meet can be longer than the operands.
    let most = lhs.shape().elements().max(rhs.shape().elements()).max(1 << 20);
    let products =
        sizes_of(&depth).iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
    if products.is_none_or(|products| products > most) {
        return Err(EngineError::Unsupported("a sum over dimensions that do not meet".into()));
    }
    let places = |labels: &[Label], tensor: &Tensor, own: &[Label]| {
        let strides = tensor.shape().strides();
        let strides: Vec<usize> =
            labels.iter().map(|label| stride_of(*label, own, &strides)).collect();
        offsets(&sizes_of(labels), &strides)
    };
    let left = [&batches, &rows, &depth].map(|labels| places(labels, lhs, lhs_labels));
    let right = [&batches, &columns, &depth].map(|labels| places(labels, rhs, rhs_labels));
    let order: Vec<usize> =
        output.iter().filter_map(|label| made.iter().position(|own| own == label)).collect();
    let dtype = result.storage();
    let elements = match (widened(lhs, dtype)?, widened(rhs, dtype)?) {
        (Elements::Integers(lhs), Elements::Integers(rhs)) => {
            Elements::Integers(permuted(product(&lhs, left, &rhs, right), &made_sizes, &order))
        }
        (Elements::Floats(lhs), Elements::Floats(rhs)) => {
            Elements::Floats(permuted(product(&lhs, left, &rhs, right), &made_sizes, &order))
        }
        (Elements::Complex(lhs), Elements::Complex(rhs)) => {
            Elements::Complex(permuted(product(&lhs, left, &rhs, right), &made_sizes, &order))
        }
        _ => return Err(wrong("the operands of a product are of different kinds")),
    };
    Ok(Tensor::from_elements(dtype, shape, &elements)?)
}

/// The sums, from the offsets of batches, rows and products in each operand.
fn product<T: Number>(
    lhs: &[T],
    [lhs_batches, lhs_rows, lhs_depth]: [Vec<usize>; 3],
    rhs: &[T],
    [rhs_batches, rhs_rows, rhs_depth]: [Vec<usize>; 3],
) -> Vec<T> {
    let extent = Extent {
        batches: lhs_batches.len(),
        rows: lhs_rows.len(),
        columns: rhs_rows.len(),
        depth: lhs_depth.len(),
    };
    let lhs = Strided { values: lhs, batches: lhs_batches, rows: lhs_rows, depth: lhs_depth };
    let rhs = Strided { values: rhs, batches: rhs_batches, rows: rhs_rows, depth: rhs_depth };
    multiply(extent, &lhs, &rhs)
}

/// An operand as the algorithm of the product sees it: the sum of so many parts of a narrower type.
fn rounded(
    operand: &Tensor,
    algorithm: Option<&Attribute>,
    side: &str,
) -> Result<Tensor, EngineError> {
    let Some(algorithm) = algorithm else { return Ok(operand.clone()) };
    let unknown = || EngineError::Unsupported(format!("a product by {algorithm}"));
    let Attribute::Structure { fields, .. } = algorithm else { return Err(unknown()) };
    let Some(precision) = fields.get(&format!("{side}_precision_type")) else {
        return Err(unknown());
    };
    let parts = match fields.get(&format!("{side}_component_count")) {
        Some(Attribute::Integer { value, .. }) if (1..=16).contains(value) => *value,
        None => 1,
        _ => return Err(unknown()),
    };
    let round: Box<dyn Fn(f64) -> f64> = match precision.to_string().as_str() {
        // 10 bits of fraction, the exponents of f32.
        "tf32" => Box::new(|value| {
            let bits = (value as f32).to_bits();
            let even = bits.wrapping_add(0xfff + ((bits >> 13) & 1)) & !0x1fff;
            if value.is_finite() { f64::from(f32::from_bits(even)) } else { value }
        }),
        name => {
            let dtype: DType = name.parse().map_err(|()| unknown())?;
            Box::new(move |value| round_to(value, dtype))
        }
    };
    let Elements::Floats(values) = operand.elements() else { return Ok(operand.clone()) };
    let sum = |value: f64| {
        let mut sum = 0.0;
        for _ in 0..parts {
            let part = round(value - sum);
            sum += if part.is_nan() && sum != 0.0 { 0.0 } else { part };
        }
        sum
    };
    // A part of a narrower type is exact in f64, whatever the operand's own type.
    let values = values.into_iter().map(sum).collect();
    Ok(Tensor::from_floats(DType::F64, operand.shape().clone(), values)?)
}

/// A value rounded to a float type; exact for those that hold it.
pub(super) fn round_to(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(value as f32),
        _ => small_float::encode(value, dtype)
            .and_then(|bits| small_float::decode(bits, dtype))
            .unwrap_or(value),
    }
}
