//! Convolutions read and write tensors whose features lie closest together, the layout they are fastest in: each is put
//! between transposes, and the transposes move down through ops on elements, windows, reductions and the like, until the one
//! before the next convolution meets the one after the last and both are gone.

use std::collections::{HashMap, HashSet};

use warpforge_hlo::ir::{
    Convolution, ConvolutionDimensions, Function, Gather, Op, OpKind, Padding, Program, ValueId,
    Window,
};
use warpforge_hlo::types::TensorType;

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::{inverse, sizes, unpermuted};

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct ChannelsLast;

impl Pass for ChannelsLast {
    fn name(&self) -> &'static str {
        "channels-last"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut mover = Mover {
                old: function,
                rewriter: Rewriter::new(function),
                transposed: HashMap::new(),
                light: HashSet::new(),
            };
            for op in &function.body.ops {
                if mover.moved_op(op).is_none() {
                    mover.rewriter.copy(function, op);
                }
                mover.note(op);
            }
            Ok(mover.rewriter.finish())
        })
    }
}

struct Mover<'a> {
    old: &'a Function,
    rewriter: Rewriter,
    /// New values that are transposes: of which value, and how.
    transposed: HashMap<ValueId, (ValueId, Vec<i64>)>,
    /// New values that cost nothing in any order: spread from fewer elements, or the same everywhere.
    light: HashSet<ValueId>,
}

/// The order of numbers that are all different: the rank of each.
fn ranks(numbers: &[i64]) -> Vec<i64> {
    let rank = |number: &i64| numbers.iter().filter(|other| *other < number).count() as i64;
    numbers.iter().map(rank).collect()
}

impl Mover<'_> {
    fn note(&mut self, op: &Op) {
        let light = match &op.kind {
            OpKind::Constant(dense) => dense.splat,
            OpKind::Iota { .. } => true,
            OpKind::BroadcastInDim { .. } => {
                let elements = |value: ValueId| {
                    let ty = self.old.ty(value).tensor()?;
                    sizes(ty).map(|sizes| sizes.iter().product::<usize>())
                };
                elements(op.operands[0]) < elements(op.results[0])
            }
            _ => false,
        };
        if light {
            self.light.insert(self.rewriter.value(op.results[0]));
        }
    }

    fn new_type(&self, value: ValueId) -> Option<&TensorType> {
        self.rewriter.tensor(value)
    }

    /// A new value with its dimensions in another order.
    fn transpose(&mut self, value: ValueId, permutation: &[i64], origin: &Op) -> Option<ValueId> {
        let (mut value, mut permutation) = (value, permutation.to_vec());
        if let Some((source, first)) = self.transposed.get(&value) {
            permutation = permutation.iter().map(|at| first[*at as usize]).collect();
            value = *source;
        }
        if permutation.is_sorted() {
            return Some(value);
        }
        let ty = self.new_type(value)?;
        let old = sizes(ty)?;
        let new: Vec<usize> = permutation.iter().map(|at| old[*at as usize]).collect();
        let ty = ty.with_sizes(&new);
        let kind = OpKind::Transpose { permutation: permutation.clone() };
        let made = self.rewriter.emit_one(kind, vec![value], ty, origin);
        self.transposed.insert(made, (value, permutation));
        Some(made)
    }

    /// Says that the result of an old op is the transpose of a new value.
    fn finish(&mut self, op: &Op, made: ValueId, permutation: &[i64]) -> Option<()> {
        let result = self.transpose(made, permutation, op)?;
        self.rewriter.replace(op.results[0], result);
        Some(())
    }

    /// Puts an op on transposed values before the transpose; nothing where it stays as it is.
    fn moved_op(&mut self, op: &Op) -> Option<()> {
        let [result] = op.results.as_slice() else { return None };
        sizes(self.old.ty(*result).tensor()?)?;
        if let OpKind::Convolution(numbers) = &op.kind {
            return self.convolution(op, numbers);
        }
        let operands = self.rewriter.values(&op.operands);
        let (_, permutation) =
            operands.iter().find_map(|operand| self.transposed.get(operand)).cloned()?;
        match &op.kind {
            OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare { .. }
            | OpKind::Select
            | OpKind::Clamp
            | OpKind::Convert => self.elementwise(op, &operands, &permutation),
            OpKind::ReduceWindow(window) if operands.len() == 2 => {
                let kind = OpKind::ReduceWindow(Box::new(Window {
                    sizes: unpermuted(&window.sizes, &permutation),
                    strides: unpermuted(&window.strides, &permutation),
                    base_dilations: unpermuted(&window.base_dilations, &permutation),
                    dilations: unpermuted(&window.dilations, &permutation),
                    padding: unpermuted(&window.padding, &permutation),
                }));
                self.same_order(op, kind, &operands, &permutation)
            }
            OpKind::Pad(padding) => {
                let kind = OpKind::Pad(Box::new(Padding {
                    low: unpermuted(&padding.low, &permutation),
                    high: unpermuted(&padding.high, &permutation),
                    interior: unpermuted(&padding.interior, &permutation),
                }));
                self.same_order(op, kind, &operands, &permutation)
            }
            OpKind::Slice { start, limit, strides } => {
                let kind = OpKind::Slice {
                    start: unpermuted(start, &permutation),
                    limit: unpermuted(limit, &permutation),
                    strides: unpermuted(strides, &permutation),
                };
                self.same_order(op, kind, &operands, &permutation)
            }
            OpKind::Reduce { dimensions } if operands.len() == 2 => {
                self.reduce(op, dimensions, &operands, &permutation)
            }
            OpKind::Gather(gather) => self.gather(op, gather, &operands, &permutation),
            _ => None,
        }
    }

    fn convolution(&mut self, op: &Op, numbers: &Convolution) -> Option<()> {
        let named = &numbers.dimensions;
        let space = named.input_spatial.len() as i64;
        if self.is_kernel_gradient(op, numbers)? {
            return self.kernel_gradient(op, numbers);
        }
        let last = |feature: i64| feature == space + 1;
        if space == 0 || last(named.input_feature) && last(named.output_feature) {
            return None;
        }
        let order = |batch: i64, feature: i64, space: &[i64]| -> Vec<i64> {
            [&[batch], space, &[feature]].concat()
        };
        let input = order(named.input_batch, named.input_feature, &named.input_spatial);
        let output = order(named.output_batch, named.output_feature, &named.output_spatial);
        let [x, kernel] = self.rewriter.values(&op.operands)[..] else { return None };
        let x = self.transpose(x, &input, op)?;
        let between: Vec<i64> = (1..=space).collect();
        let dimensions = ConvolutionDimensions {
            input_batch: 0,
            input_feature: space + 1,
            input_spatial: between.clone(),
            output_batch: 0,
            output_feature: space + 1,
            output_spatial: between,
            ..named.clone()
        };
        let kind = OpKind::Convolution(Box::new(Convolution { dimensions, ..numbers.clone() }));
        let ty = self.ordered_type(op.results[0], &output)?;
        let made = self.rewriter.emit_one(kind, vec![x, kernel], ty, op);
        self.finish(op, made, &inverse(&output))
    }

    /// Whether a convolution is the gradient of another's kernel: its window is larger than its result.
    fn is_kernel_gradient(&self, op: &Op, numbers: &Convolution) -> Option<bool> {
        let named = &numbers.dimensions;
        let elements = |value: ValueId, space: &[i64]| -> Option<usize> {
            let sizes = sizes(self.old.ty(value).tensor()?)?;
            Some(space.iter().map(|at| sizes[*at as usize]).product())
        };
        let window = elements(op.operands[1], &named.kernel_spatial)?;
        Some(window > elements(op.results[0], &named.output_spatial)?)
    }

    /// There, what is called batch and what is called features of the input have changed places: the former come last, in both
    /// operands.
    fn kernel_gradient(&mut self, op: &Op, numbers: &Convolution) -> Option<()> {
        let named = &numbers.dimensions;
        let space = named.input_spatial.len() as i64;
        let last = |feature: i64| feature == space + 1;
        if space == 0 || last(named.input_batch) && last(named.kernel_output_feature) {
            return None;
        }
        let order = |first: i64, space: &[i64], last: i64| -> Vec<i64> {
            [&[first], space, &[last]].concat()
        };
        let input = order(named.input_feature, &named.input_spatial, named.input_batch);
        let kernel =
            order(named.kernel_input_feature, &named.kernel_spatial, named.kernel_output_feature);
        let [x, gradient] = self.rewriter.values(&op.operands)[..] else { return None };
        let x = self.transpose(x, &input, op)?;
        let gradient = self.transpose(gradient, &kernel, op)?;
        let between: Vec<i64> = (1..=space).collect();
        let dimensions = ConvolutionDimensions {
            input_batch: space + 1,
            input_feature: 0,
            input_spatial: between.clone(),
            kernel_input_feature: 0,
            kernel_output_feature: space + 1,
            kernel_spatial: between,
            ..named.clone()
        };
        let kind = OpKind::Convolution(Box::new(Convolution { dimensions, ..numbers.clone() }));
        let ty = self.old.ty(op.results[0]).tensor()?.clone();
        let made = self.rewriter.emit_one(kind, vec![x, gradient], ty, op);
        self.rewriter.replace(op.results[0], made);
        Some(())
    }

    /// The type of an old value with its dimensions in another order.
    fn ordered_type(&self, old: ValueId, permutation: &[i64]) -> Option<TensorType> {
        let ty = self.old.ty(old).tensor()?;
        let old = sizes(ty)?;
        let new: Vec<usize> = permutation.iter().map(|at| old[*at as usize]).collect();
        Some(ty.with_sizes(&new))
    }

    fn elementwise(&mut self, op: &Op, operands: &[ValueId], permutation: &[i64]) -> Option<()> {
        let fits = |operand: &ValueId| {
            self.light.contains(operand)
                || self.new_type(*operand).is_some_and(|ty| ty.rank() == 0)
                || self.transposed.get(operand).is_some_and(|(_, other)| other == permutation)
        };
        if !operands.iter().all(fits) {
            return None;
        }
        let back = inverse(permutation);
        let mut moved = Vec::with_capacity(operands.len());
        for operand in operands {
            let scalar = self.new_type(*operand)?.rank() == 0;
            moved.push(if scalar { *operand } else { self.transpose(*operand, &back, op)? });
        }
        let ty = self.ordered_type(op.results[0], &back)?;
        let made = self.rewriter.emit_one(op.kind.clone(), moved, ty, op);
        self.finish(op, made, permutation)
    }

    /// An op whose first operand alone is ordered, as its result is.
    fn same_order(
        &mut self,
        op: &Op,
        kind: OpKind,
        operands: &[ValueId],
        permutation: &[i64],
    ) -> Option<()> {
        let back = inverse(permutation);
        let mut moved = operands.to_vec();
        if !self.transposed.contains_key(&moved[0]) {
            return None;
        }
        moved[0] = self.transpose(moved[0], &back, op)?;
        let ty = self.ordered_type(op.results[0], &back)?;
        let made = self.with_regions(op, kind, moved, ty);
        self.finish(op, made, permutation)
    }

    fn with_regions(
        &mut self,
        op: &Op,
        kind: OpKind,
        operands: Vec<ValueId>,
        ty: TensorType,
    ) -> ValueId {
        let regions =
            op.regions.iter().map(|region| self.rewriter.copied_region(self.old, region)).collect();
        self.rewriter.emit_with(kind, operands, ty, regions, op)
    }

    fn reduce(
        &mut self,
        op: &Op,
        dimensions: &[i64],
        operands: &[ValueId],
        permutation: &[i64],
    ) -> Option<()> {
        let (source, _) = self.transposed.get(&operands[0])?.clone();
        let mut reduced: Vec<i64> = dimensions.iter().map(|at| permutation[*at as usize]).collect();
        reduced.sort_unstable();
        let kept: Vec<i64> = (0..permutation.len() as i64)
            .filter(|at| !dimensions.contains(at))
            .map(|at| permutation[at as usize])
            .collect();
        let order = ranks(&kept);
        let ty = self.ordered_type(op.results[0], &inverse(&order))?;
        let kind = OpKind::Reduce { dimensions: reduced };
        let made = self.with_regions(op, kind, vec![source, operands[1]], ty);
        self.finish(op, made, &order)
    }

    /// A gather whose result is ordered as its operand is, where slices and indices stay in their order.
    fn gather(
        &mut self,
        op: &Op,
        gather: &Gather,
        operands: &[ValueId],
        permutation: &[i64],
    ) -> Option<()> {
        let (source, _) = self.transposed.get(&operands[0])?.clone();
        let rank = self.old.ty(op.results[0]).tensor()?.rank();
        if rank != permutation.len() || !gather.operand_batching_dims.is_empty() {
            return None;
        }
        let to = |at: &i64| permutation[*at as usize];
        let slices: Vec<i64> = (0..permutation.len() as i64)
            .filter(|at| !gather.collapsed_slice_dims.contains(at))
            .map(|at| to(&at))
            .collect();
        let offsets: Vec<i64> = gather.offset_dims.iter().map(to).collect();
        let batch: Vec<i64> = (0..rank as i64)
            .filter(|at| !gather.offset_dims.contains(at))
            .map(|at| to(&at))
            .collect();
        if ranks(&slices) != ranks(&offsets) || !batch.is_sorted() {
            return None;
        }
        let sorted = |mut values: Vec<i64>| {
            values.sort_unstable();
            values
        };
        let kind = OpKind::Gather(Box::new(Gather {
            offset_dims: sorted(offsets),
            collapsed_slice_dims: sorted(gather.collapsed_slice_dims.iter().map(to).collect()),
            start_index_map: gather.start_index_map.iter().map(to).collect(),
            slice_sizes: unpermuted(&gather.slice_sizes, permutation),
            ..gather.clone()
        }));
        let ty = self.ordered_type(op.results[0], &inverse(permutation))?;
        let made = self.rewriter.emit_one(kind, vec![source, operands[1]], ty, op);
        self.finish(op, made, permutation)
    }
}
