//! Reads a function of one convolution.

use warpforge_hlo::ir::{Function, OpKind};
use warpforge_tensor::{DType, Shape};

use super::{Convolution, Dimensions};
use crate::pattern::sizes;

/// The convolution a function computes, where the library takes it.
pub(crate) fn recognize(function: &Function) -> Option<Convolution> {
    let [op, _] = function.body.ops.as_slice() else { return None };
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
    let (input, kernel, result) =
        (tensor(op.operands[0])?, tensor(op.operands[1])?, tensor(op.results[0])?);
    let dtypes = [input.dtype()?, kernel.dtype()?, result.dtype()?];
    if !dtypes.iter().all(|dtype| matches!(dtype, DType::F32 | DType::BF16)) {
        return None;
    }
    let argument = |value| function.body.arguments.iter().position(|argument| *argument == value);
    let named = &numbers.dimensions;
    let order = |first: i64, second: i64, space: &[i64]| -> Vec<usize> {
        [first, second].iter().chain(space).map(|at| *at as usize).collect()
    };
    let input = placed(
        &sizes(input)?,
        &order(named.input_batch, named.input_feature, &named.input_spatial),
    )?;
    let kernel = placed(
        &sizes(kernel)?,
        &order(named.kernel_output_feature, named.kernel_input_feature, &named.kernel_spatial),
    )?;
    let result = placed(
        &sizes(result)?,
        &order(named.output_batch, named.output_feature, &named.output_spatial),
    )?;
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
        operands: [argument(op.operands[0])?, argument(op.operands[1])?],
        dtypes,
        input,
        kernel: grouped(kernel, usize::try_from(numbers.feature_group_count).ok()?)?,
        result,
        strides: counts(&numbers.strides)?,
        dilations: counts(&numbers.rhs_dilation)?,
        padding,
    })
}

/// Sizes and strides of a dense tensor, its dimensions in this order.
fn placed(sizes: &[usize], order: &[usize]) -> Option<Dimensions> {
    let strides = Shape::new(sizes).ok()?.strides();
    order.iter().map(|at| Some((*sizes.get(*at)?, *strides.get(*at)? as isize))).collect()
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
