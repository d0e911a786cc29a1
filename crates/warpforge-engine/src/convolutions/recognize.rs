//! Reads a cluster of one convolution, the ops that place its operands, what is done to each element of the result and how
//! the result is placed.

use warpforge_hlo::ir::{self as hlo, Function, Op, OpKind};
use warpforge_tensor::DType;

use super::{Convolution, Dimensions, Direction, is_channels_last};
use crate::epilogue::{Operands, Tail, read, read_dtypes};
use crate::pattern::sizes;
use crate::products::has_bf16_vectors;
use crate::view::View;

/// The convolution a function computes, where it is one that the library would take. With `tails` also what follows it may be in it.
pub(crate) fn recognize(function: &Function, tails: bool) -> Option<Convolution> {
    let found = read(function, tails, |op, operands| core(function, op, operands))?;
    let mut convolution = found.core;
    convolution.result = placed(&found.result, &convolution.order)?;
    convolution.dtypes[2] = found.dtype;
    convolution.tails = found.tails;
    // In other layouts the library would have to lay out summands as it does the result; to gradients it does nothing.
    let adds = convolution.tails.iter().any(|tail| matches!(tail, Tail::With { .. }));
    let follows = match convolution.direction {
        Direction::Forward => !adds || is_channels_last(&convolution.result),
        Direction::Input | Direction::Kernel => convolution.tails.is_empty(),
    };
    let following: Vec<DType> =
        [found.dtype].into_iter().chain(read_dtypes(&convolution.tails)).collect();
    let takes = following.iter().all(|dtype| matches!(dtype, DType::F32 | DType::BF16));
    // For a narrow result of wide operands the library has an instruction in its code that not every machine knows. Tiles could
    // take some of them, but what tiles can compute may be left to the library.
    let is_wide = convolution.dtypes[..2] == [DType::F32; 2];
    let narrows = following.contains(&DType::BF16);
    let knows = !(is_wide && narrows) || has_bf16_vectors();
    (takes && follows && knows).then_some(convolution)
}

fn core(function: &Function, op: &Op, [left, right]: Operands<'_>) -> Option<Convolution> {
    let OpKind::Convolution(numbers) = &op.kind else { return None };
    let tensor = |value| function.ty(value).tensor();
    let result = tensor(op.results[0])?;
    let dtypes =
        [tensor(op.operands[0])?.dtype()?, tensor(op.operands[1])?.dtype()?, result.dtype()?];
    let narrow = |dtype: &DType| matches!(dtype, DType::F32 | DType::BF16);
    if !dtypes.iter().all(narrow) || numbers.batch_group_count != 1 {
        return None;
    }
    let forward = Forward::new(right.1, numbers)?;
    // The library reads forward, and every element once.
    let plain = |view: &View| {
        let mut steps = view.sizes.iter().zip(&view.strides);
        steps.all(|(size, step)| *size == 1 || *step > 0)
    };
    let result = View::row_major(&sizes(result)?);
    let empty = |view: &View| view.sizes.contains(&0);
    let space = numbers.dimensions.input_spatial.len();
    if !plain(left.1) || !plain(&forward.kernel) || !(1..=3).contains(&space) {
        return None;
    }
    if empty(left.1) || empty(&forward.kernel) || empty(&result) {
        return None;
    }
    let given = Given {
        numbers,
        operands: [left.0, right.0],
        dtypes,
        left: left.1,
        right: &forward.kernel,
        result: &result,
        window: Window::new(numbers, space)?,
    };
    match forward.flipped {
        Flipped::None => given.kernel_gradient().or_else(|| given.forward()),
        Flipped::All => given.input_gradient(),
        // A kernel of one element in space is the same either way.
        Flipped::Either => given.forward().or_else(|| given.input_gradient()),
    }
}

/// In which dimensions of space a kernel is read backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flipped {
    None,
    All,
    Either,
}

/// A kernel's elements in their forward order.
struct Forward {
    kernel: View,
    flipped: Flipped,
}

impl Forward {
    /// None where some dimensions are read backwards and others are not.
    fn new(kernel: &View, numbers: &hlo::Convolution) -> Option<Self> {
        let mut forward = kernel.clone();
        let mut flips = Vec::new();
        for (at, dimension) in numbers.dimensions.kernel_spatial.iter().enumerate() {
            let dimension = usize::try_from(*dimension).ok()?;
            let (size, step) = (*kernel.sizes.get(dimension)?, *kernel.strides.get(dimension)?);
            if step < 0 {
                forward.offset += (size as isize - 1) * step;
                forward.strides[dimension] = -step;
            }
            let reversed = numbers.reversal.get(at).copied().unwrap_or(false);
            if size > 1 {
                flips.push(reversed != (step < 0));
            }
        }
        let flipped = match (flips.is_empty(), flips.contains(&true), flips.contains(&false)) {
            (true, ..) => Flipped::Either,
            (_, true, false) => Flipped::All,
            (_, false, true) => Flipped::None,
            _ => return None,
        };
        Some(Self { kernel: forward, flipped })
    }
}

/// How the window of an op moves, with an entry for each dimension of space.
struct Window {
    strides: Vec<usize>,
    input_dilations: Vec<usize>,
    kernel_dilations: Vec<usize>,
    padding: Vec<(i64, i64)>,
}

impl Window {
    fn new(numbers: &hlo::Convolution, space: usize) -> Option<Self> {
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
        let window = Self {
            strides: counts(&numbers.strides)?,
            input_dilations: counts(&numbers.lhs_dilation)?,
            kernel_dilations: counts(&numbers.rhs_dilation)?,
            padding,
        };
        let lists = [&window.strides, &window.input_dilations, &window.kernel_dilations];
        let whole = lists.iter().all(|list| list.len() == space && !list.contains(&0));
        (whole && window.padding.len() == space).then_some(window)
    }
}

/// An op that may be a convolution of the library in some direction.
struct Given<'a> {
    numbers: &'a hlo::Convolution,
    operands: [usize; 2],
    dtypes: [DType; 3],
    left: &'a View,
    right: &'a View,
    result: &'a View,
    window: Window,
}

fn ones(values: &[usize]) -> bool {
    values.iter().all(|value| *value == 1)
}

fn order(first: i64, second: i64, space: &[i64]) -> Vec<usize> {
    [first, second].iter().chain(space).map(|at| *at as usize).collect()
}

fn space_of(dimensions: &Dimensions) -> impl Iterator<Item = i64> {
    dimensions.iter().skip(2).map(|(size, _)| *size as i64)
}

impl Given<'_> {
    /// Operands and result in these orders of dimensions.
    fn laid_out(
        &self,
        direction: Direction,
        orders: [Vec<usize>; 3],
        window: (Vec<usize>, Vec<usize>, Vec<(i64, i64)>),
    ) -> Option<Convolution> {
        let [left, right, result] = orders;
        Some(Convolution {
            direction,
            operands: self.operands,
            dtypes: self.dtypes,
            input: placed(self.left, &left)?,
            kernel: placed(self.right, &right)?,
            result: placed(self.result, &result)?,
            strides: window.0,
            dilations: window.1,
            padding: window.2,
            offsets: [self.left.offset, self.right.offset],
            order: result,
            tails: Vec::new(),
            by: None,
            rounded: false,
            over: None,
        })
    }

    fn forward(&self) -> Option<Convolution> {
        let Window { strides, input_dilations, kernel_dilations, padding } = &self.window;
        if !ones(input_dilations) || padding.iter().any(|(low, high)| *low < 0 || *high < 0) {
            return None;
        }
        let named = &self.numbers.dimensions;
        let orders = [
            order(named.input_batch, named.input_feature, &named.input_spatial),
            order(named.kernel_output_feature, named.kernel_input_feature, &named.kernel_spatial),
            order(named.output_batch, named.output_feature, &named.output_spatial),
        ];
        let window = (strides.clone(), kernel_dilations.clone(), padding.clone());
        let mut found = self.laid_out(Direction::Forward, orders, window)?;
        let groups = usize::try_from(self.numbers.feature_group_count).ok()?;
        found.kernel = grouped(found.kernel, groups)?;
        Some(found)
    }

    /// The gradient of a convolution's input: that of the result with gaps as wide as the steps of the window, and the kernel
    /// backwards.
    fn input_gradient(&self) -> Option<Convolution> {
        let Window { strides, input_dilations, kernel_dilations, padding } = &self.window;
        if !ones(strides) || self.numbers.feature_group_count != 1 {
            return None;
        }
        let named = &self.numbers.dimensions;
        let orders = [
            order(named.input_batch, named.input_feature, &named.input_spatial),
            order(named.kernel_input_feature, named.kernel_output_feature, &named.kernel_spatial),
            order(named.output_batch, named.output_feature, &named.output_spatial),
        ];
        let window = (input_dilations.clone(), kernel_dilations.clone(), Vec::new());
        let mut found = self.laid_out(Direction::Input, orders, window)?;
        let low = padding.iter().zip(space_of(&found.kernel)).zip(kernel_dilations);
        let low: Vec<i64> =
            low.map(|(((low, _), size), step)| (size - 1) * *step as i64 - low).collect();
        found.padding = forward_padding(
            &low,
            [&found.result, &found.kernel, &found.input],
            (&found.strides, &found.dilations),
        )?;
        Some(found)
    }

    /// The gradient of a convolution's kernel: batch and features have changed places, and the window is as large as the
    /// result was. As a convolution like any other it would be one with a huge kernel.
    fn kernel_gradient(&self) -> Option<Convolution> {
        let Window { strides, input_dilations, kernel_dilations, padding } = &self.window;
        if !ones(input_dilations) || self.numbers.feature_group_count != 1 {
            return None;
        }
        let named = &self.numbers.dimensions;
        let orders = [
            order(named.input_feature, named.input_batch, &named.input_spatial),
            order(named.kernel_input_feature, named.kernel_output_feature, &named.kernel_spatial),
            order(named.output_feature, named.output_batch, &named.output_spatial),
        ];
        let window = (kernel_dilations.clone(), strides.clone(), Vec::new());
        let mut found = self.laid_out(Direction::Kernel, orders, window)?;
        let elements = |of: &Dimensions| space_of(of).product::<i64>();
        if elements(&found.kernel) <= elements(&found.result) {
            return None;
        }
        let low: Vec<i64> = padding.iter().map(|(low, _)| *low).collect();
        found.padding = forward_padding(
            &low,
            [&found.input, &found.result, &found.kernel],
            (&found.strides, &found.dilations),
        )?;
        Some(found)
    }
}

/// The padding of the convolution whose gradient it is, from that before the first element: input, kernel and result of the
/// forward direction say how much is behind the last.
fn forward_padding(
    low: &[i64],
    [input, kernel, result]: [&Dimensions; 3],
    (strides, dilations): (&[usize], &[usize]),
) -> Option<Vec<(i64, i64)>> {
    let mut padding = Vec::with_capacity(low.len());
    let sizes = space_of(input).zip(space_of(kernel)).zip(space_of(result));
    let steps = strides.iter().zip(dilations);
    for ((((input, kernel), result), (stride, dilation)), low) in sizes.zip(steps).zip(low) {
        let stride = *stride as i64;
        let reached = (result - 1) * stride + (kernel - 1) * *dilation as i64 + 1;
        let high = reached - input - low;
        // Elements behind the last window, fewer than a step, were not read.
        if *low < 0 || high + stride <= 0 {
            return None;
        }
        padding.push((*low, high.max(0)));
    }
    Some(padding)
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
