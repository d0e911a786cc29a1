//! Convolutions with any dimension numbers, strides, padding, dilations, reversal and groups, over any number of spatial
//! dimensions.
//!
//! A convolution is a product: each position of the window is a row, each output feature a column, and a row's elements
//! are read from the input as the product asks for them. Padding is multiplied as the zeros it is.

use std::ops::Range;

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::Convolution;
use warpforge_tensor::{Elements, Shape, Tensor};

use super::multiplication::{Extent, LANES, Rows, Strided, multiply};
use super::number::{Number, widened};
use super::place::{axes, axis, chosen, offsets, permuted, shape_of, wrong};
use super::sliding::{Axis, Sliding};
use crate::EngineError;

/// A convolution whose padding is an attribute.
pub(super) fn convolution(
    numbers: &Convolution,
    lhs: &Tensor,
    rhs: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    padded_convolution(numbers, &numbers.padding, lhs, rhs, result)
}

/// A convolution whose padding is a tensor of a pair for each spatial dimension.
pub(super) fn dynamic_conv(
    numbers: &Convolution,
    lhs: &Tensor,
    rhs: &Tensor,
    padding: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let values = padding.integers()?;
    let padding: Vec<(i64, i64)> = values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    padded_convolution(numbers, &padding, lhs, rhs, result)
}

/// The dimensions of a tensor: two with names, and the spatial ones in their order.
fn roles(
    first: i64,
    second: i64,
    spatial: &[i64],
    rank: usize,
) -> Result<(usize, usize, Vec<usize>), EngineError> {
    axes(&[&[first, second], spatial].concat(), rank)?;
    if spatial.len() + 2 != rank {
        return Err(wrong(format!("{} dimensions of {rank} have a role", spatial.len() + 2)));
    }
    Ok((axis(first, rank)?, axis(second, rank)?, axes(spatial, rank)?))
}

fn padded_convolution(
    numbers: &Convolution,
    padding: &[(i64, i64)],
    lhs: &Tensor,
    rhs: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (shape, dtype) = (shape_of(result)?, result.storage());
    if shape.elements() == 0 {
        return Ok(Tensor::zeros(dtype, shape));
    }
    let plan = Plan::new(numbers, padding, lhs.shape(), rhs.shape(), &shape)?;
    let elements = match (widened(lhs, dtype)?, widened(rhs, dtype)?) {
        (Elements::Integers(lhs), Elements::Integers(rhs)) => {
            Elements::Integers(plan.convolve(&lhs, &rhs))
        }
        (Elements::Floats(lhs), Elements::Floats(rhs)) => {
            Elements::Floats(plan.convolve(&lhs, &rhs))
        }
        (Elements::Complex(lhs), Elements::Complex(rhs)) => {
            Elements::Complex(plan.convolve(&lhs, &rhs))
        }
        _ => return Err(wrong("the operands of a convolution are of different kinds")),
    };
    Ok(Tensor::from_elements(dtype, shape, &elements)?)
}

/// One spatial dimension.
#[derive(Debug, Clone, Copy)]
struct Spatial {
    axis: Axis,
    /// How far neighbours of the input lie apart in memory.
    stride: usize,
    taps: usize,
    reversed: bool,
}

/// Where everything lies.
struct Plan {
    extent: Extent,
    spatial: Vec<Spatial>,
    /// Images and positions: what a row's number is made of.
    outputs: Vec<usize>,
    /// Input features of one group.
    features: usize,
    image_stride: usize,
    feature_stride: usize,
    /// How far the inputs of two groups lie apart.
    group_stride: usize,
    /// The kernel: where groups, output features and what is multiplied begin.
    kernel: [Vec<usize>; 3],
    /// From groups, images, positions, features to the result's dimensions.
    sizes: Vec<usize>,
    order: Vec<usize>,
}

impl Plan {
    /// The result is not empty.
    fn new(
        numbers: &Convolution,
        padding: &[(i64, i64)],
        lhs: &Shape,
        rhs: &Shape,
        result: &Shape,
    ) -> Result<Self, EngineError> {
        let d = &numbers.dimensions;
        let (batch, feature, spatial) =
            roles(d.input_batch, d.input_feature, &d.input_spatial, lhs.rank())?;
        let (kernel_input, kernel_output, kernel_spatial) =
            roles(d.kernel_input_feature, d.kernel_output_feature, &d.kernel_spatial, rhs.rank())?;
        let (output_batch, output_feature, output_spatial) =
            roles(d.output_batch, d.output_feature, &d.output_spatial, result.rank())?;
        let lists = [
            kernel_spatial.len(),
            output_spatial.len(),
            padding.len(),
            numbers.strides.len(),
            numbers.lhs_dilation.len(),
            numbers.rhs_dilation.len(),
            numbers.reversal.len(),
        ];
        if lists.iter().any(|length| *length != spatial.len()) {
            return Err(wrong("the attributes of a convolution differ in their number"));
        }
        let count = |number: i64| usize::try_from(number).ok().filter(|number| *number > 0);
        let (Some(feature_groups), Some(batch_groups)) =
            (count(numbers.feature_group_count), count(numbers.batch_group_count))
        else {
            return Err(wrong("the groups of a convolution must be at least one"));
        };
        let (inputs, kernels, outputs) = (lhs.sizes(), rhs.sizes(), result.sizes());
        let groups = feature_groups.saturating_mul(batch_groups);
        let (images, features) = (inputs[batch] / batch_groups, kernels[kernel_input]);
        let columns = kernels[kernel_output] / groups;
        let fits = features.checked_mul(feature_groups) == Some(inputs[feature])
            && images * batch_groups == inputs[batch]
            && columns.checked_mul(groups) == Some(kernels[kernel_output])
            && (feature_groups == 1 || batch_groups == 1)
            && outputs[output_batch] == images
            && outputs[output_feature] == kernels[kernel_output];
        if !fits {
            return Err(wrong(format!(
                "inputs {lhs}, kernels {rhs} and outputs {result} do not fit each other"
            )));
        }
        let (input_strides, kernel_strides) = (lhs.strides(), rhs.strides());
        let mut slides = Vec::with_capacity(spatial.len());
        for (place, dimension) in spatial.iter().enumerate() {
            let taps = kernels[kernel_spatial[place]];
            let sliding = Sliding {
                stride: numbers.strides[place],
                padding: padding[place],
                base_dilation: numbers.lhs_dilation[place],
                window_dilation: numbers.rhs_dilation[place],
                taps: i64::try_from(taps).map_err(|_| wrong("a kernel is too large"))?,
            };
            slides.push(Spatial {
                axis: Axis::new(inputs[*dimension], outputs[output_spatial[place]], sliding)?,
                stride: input_strides[*dimension],
                taps,
                reversed: numbers.reversal[place],
            });
        }
        let inner: Vec<usize> = kernel_spatial.iter().copied().chain([kernel_input]).collect();
        let depth = offsets(&chosen(kernels, &inner), &chosen(&kernel_strides, &inner));
        let output_stride = kernel_strides[kernel_output];
        let positions = chosen(outputs, &output_spatial);
        let rows = [&[images][..], &positions].concat();
        let extent =
            Extent { batches: groups, rows: rows.iter().product(), columns, depth: depth.len() };
        let group_stride = if batch_groups > 1 {
            images * input_strides[batch]
        } else {
            features * input_strides[feature]
        };
        let mut order = Vec::with_capacity(result.rank() + 1);
        for place in 0..result.rank() {
            if place == output_batch {
                order.push(1);
            } else if place == output_feature {
                order.extend([0, result.rank()]);
            } else if let Some(number) = output_spatial.iter().position(|own| *own == place) {
                order.push(2 + number);
            }
        }
        Ok(Self {
            extent,
            spatial: slides,
            features,
            image_stride: input_strides[batch],
            feature_stride: input_strides[feature],
            group_stride,
            kernel: [
                (0..groups).map(|group| group * columns * output_stride).collect(),
                (0..columns).map(|column| column * output_stride).collect(),
                depth,
            ],
            sizes: [&[groups][..], &rows, &[columns]].concat(),
            outputs: rows,
            order,
        })
    }

    /// The elements of the result.
    fn convolve<T: Number>(&self, lhs: &[T], rhs: &[T]) -> Vec<T> {
        let [batches, rows, depth] = self.kernel.clone();
        let kernel = Strided { values: rhs, batches, rows, depth };
        let sums = multiply(self.extent, &Windows { plan: self, values: lhs }, &kernel);
        permuted(sums, &self.sizes, &self.order)
    }

    /// Where a tap of the window at a position reads the first feature; none in padding.
    fn place(&self, position: &[usize], tap: usize) -> Option<usize> {
        let (mut rest, mut place) = (tap, 0);
        for (spatial, output) in self.spatial.iter().zip(position).rev() {
            let own = rest % spatial.taps;
            rest /= spatial.taps;
            let own = if spatial.reversed { spatial.taps - 1 - own } else { own };
            place += spatial.axis.input(*output, own)? * spatial.stride;
        }
        Some(place)
    }
}

/// The input as rows: what each position of the window sees, tap by tap, all features of a group at each.
struct Windows<'a, T> {
    plan: &'a Plan,
    values: &'a [T],
}

impl<T: Number> Rows<T> for Windows<'_, T> {
    fn fill(&self, batch: usize, row: usize, depth: Range<usize>, lane: usize, panel: &mut [T]) {
        let plan = self.plan;
        let mut position = vec![0; plan.outputs.len()];
        let mut rest = row;
        for (place, size) in position.iter_mut().zip(&plan.outputs).rev() {
            *place = rest % size;
            rest /= size;
        }
        let base = batch * plan.group_stride + position[0] * plan.image_stride;
        let mut slots = panel[lane..].iter_mut().step_by(LANES);
        let mut next = depth.start;
        while next < depth.end {
            let (tap, feature) = (next / plan.features, next % plan.features);
            let count = (plan.features - feature).min(depth.end - next);
            let part = slots.by_ref().take(count);
            match plan.place(&position[1..], tap) {
                Some(place) => {
                    let values = &self.values[base + place + feature * plan.feature_stride..];
                    for (slot, value) in part.zip(values.iter().step_by(plan.feature_stride)) {
                        *slot = *value;
                    }
                }
                None => part.for_each(|slot| *slot = T::ZERO),
            }
            next += count;
        }
    }
}
