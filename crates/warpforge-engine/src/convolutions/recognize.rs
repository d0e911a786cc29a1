//! Reads a cluster of one convolution, the ops that place its operands, what is done to each element of the result and how
//! the result is placed.

use warpforge_hlo::ir::{Function, Op, OpKind};
use warpforge_tensor::DType;

use super::{Convolution, Dimensions, is_channels_last};
use crate::epilogue::{Operands, Tail, read};
use crate::pattern::sizes;
use crate::view::View;

/// The convolution a function computes, where the library takes it. With `tails` also what follows it may be in it.
pub(crate) fn recognize(function: &Function, tails: bool) -> Option<Convolution> {
    let found = read(function, tails, |op, operands| core(function, op, operands))?;
    let mut convolution = found.core;
    convolution.result = placed(&found.result, &convolution.order)?;
    convolution.dtypes[2] = found.dtype;
    convolution.tails = found.tails;
    // In other layouts the library would have to lay out summands as it does the result.
    let adds = convolution.tails.iter().any(|tail| matches!(tail, Tail::With { .. }));
    let takes = matches!(found.dtype, DType::F32 | DType::BF16);
    (takes && (!adds || is_channels_last(&convolution.result))).then_some(convolution)
}

fn core(function: &Function, op: &Op, [left, right]: Operands<'_>) -> Option<Convolution> {
    let OpKind::Convolution(numbers) = &op.kind else { return None };
    let ones = |values: &[i64]| values.iter().all(|value| *value == 1);
    if !ones(&numbers.lhs_dilation)
        || numbers.reversal.iter().any(|reversed| *reversed)
        || numbers.batch_group_count != 1
        || numbers.padding.iter().any(|(low, high)| *low < 0 || *high < 0)
    {
        return None;
    }
    let tensor = |value| function.ty(value).tensor();
    let result = tensor(op.results[0])?;
    let dtypes =
        [tensor(op.operands[0])?.dtype()?, tensor(op.operands[1])?.dtype()?, result.dtype()?];
    if !dtypes.iter().all(|dtype| matches!(dtype, DType::F32 | DType::BF16)) {
        return None;
    }
    let named = &numbers.dimensions;
    let order = |first: i64, second: i64, space: &[i64]| -> Vec<usize> {
        [first, second].iter().chain(space).map(|at| *at as usize).collect()
    };
    // The library reads forward, and every element once.
    let plain = |view: &View| {
        let mut steps = view.sizes.iter().zip(&view.strides);
        steps.all(|(size, step)| *size == 1 || *step > 0)
    };
    if !plain(left.1) || !plain(right.1) {
        return None;
    }
    let input =
        placed(left.1, &order(named.input_batch, named.input_feature, &named.input_spatial))?;
    let kernel = placed(
        right.1,
        &order(named.kernel_output_feature, named.kernel_input_feature, &named.kernel_spatial),
    )?;
    let result_order = order(named.output_batch, named.output_feature, &named.output_spatial);
    let result = placed(&View::row_major(&sizes(result)?), &result_order)?;
    let space = named.input_spatial.len();
    let empty = [&input, &kernel, &result].iter().any(|all| all.iter().any(|(size, _)| *size == 0));
    if empty || !(1..=3).contains(&space) {
        return None;
    }
    let counts = |values: &[i64]| -> Option<Vec<usize>> {
        match values.is_empty() {
            true => Some(vec![1; space]),
            false => values.iter().map(|value| usize::try_from(*value).ok()).collect(),
        }
    };
    let padding = match numbers.padding.is_empty() {
        true => vec![(0, 0); space],
        false => numbers.padding.clone(),
    };
    Some(Convolution {
        operands: [left.0, right.0],
        dtypes,
        input,
        kernel: grouped(kernel, usize::try_from(numbers.feature_group_count).ok()?)?,
        result,
        strides: counts(&numbers.strides)?,
        dilations: counts(&numbers.rhs_dilation)?,
        padding,
        offsets: [left.1.offset, right.1.offset],
        order: result_order,
        tails: Vec::new(),
    })
}

/// Sizes and strides of a view, its dimensions in this order.
pub(super) fn placed(view: &View, order: &[usize]) -> Option<Dimensions> {
    order.iter().map(|at| Some((*view.sizes.get(*at)?, *view.strides.get(*at)?))).collect()
}

/// The kernel with its output features split into groups, where there are several.
fn grouped(kernel: Dimensions, groups: usize) -> Option<Dimensions> {
    if groups == 1 {
        return Some(kernel);
    }
    let ((features, stride), rest) = kernel.split_first()?;
    if groups == 0 || !features.is_multiple_of(groups) {
        return None;
    }
    let each = features / groups;
    let mut dimensions = vec![(groups, stride * each as isize), (each, *stride)];
    dimensions.extend_from_slice(rest);
    Some(dimensions)
}
