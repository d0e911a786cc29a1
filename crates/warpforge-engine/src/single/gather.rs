//! `gather`: slices of an operand at places that indices say, such as rows of an embedding.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Function, Gather, OpKind};
use warpforge_tensor::{DType, Shape};

use super::index::{clamped, is_index, read};
use super::moving::{Run, copy_runs, joined};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::pattern::sizes;
use crate::pool::Pool;

/// A dimension that both the indices and the result have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Batch {
    size: usize,
    /// How far apart in the indices, in the result, and (for batching dimensions) in the operand.
    indices: usize,
    result: usize,
    operand: usize,
}

/// A dimension of the operand whose start an index says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Start {
    size: usize,
    slice: usize,
    stride: usize,
}

/// The kernel.
pub(crate) struct Gathering {
    element_bytes: usize,
    index_dtype: DType,
    batch: Vec<Batch>,
    starts: Vec<Start>,
    /// How far apart the parts of one index are.
    index_stride: usize,
    /// The elements of a slice.
    slice: Vec<Run>,
    slice_elements: usize,
    cost: Cost,
}

/// Reads a function of one gather.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Gathering> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let OpKind::Gather(numbers) = &op.kind else { return None };
    let [operand, indices] = op.operands.as_slice() else { return None };
    // One value may be both; the arguments are then one.
    if function.body.arguments.as_slice() != [*operand, *indices] {
        return None;
    }
    let tensor = |value| function.ty(value).tensor();
    let (operand, indices, result) = (tensor(*operand)?, tensor(*indices)?, tensor(op.results[0])?);
    let index_dtype = indices.dtype().filter(|dtype| is_index(*dtype))?;
    let shapes = [sizes(operand)?, sizes(indices)?, sizes(result)?];
    Gathering::new(numbers, &shapes, operand.storage().bytes(), index_dtype, cost)
}

impl Gathering {
    fn new(
        numbers: &Gather,
        [operand, indices, result]: &[Vec<usize>; 3],
        element_bytes: usize,
        index_dtype: DType,
        cost: Cost,
    ) -> Option<Self> {
        let strides = |sizes: &[usize]| Some(Shape::new(sizes).ok()?.strides());
        let operand_strides = strides(operand)?;
        let index_strides = strides(indices)?;
        let result_strides = strides(result)?;
        let vector = numbers.index_vector_dim as usize;
        let in_result = |at: usize| numbers.offset_dims.contains(&(at as i64));
        let mut batch_places = (0..result.len()).filter(|at| !in_result(*at));
        let mut batch = Vec::new();
        for (at, size) in indices.iter().enumerate() {
            if at == vector {
                continue;
            }
            let place = batch_places.next()?;
            let batching = numbers.start_indices_batching_dims.iter().position(|d| *d == at as i64);
            let operand = match batching {
                Some(which) => operand_strides[*numbers.operand_batching_dims.get(which)? as usize],
                None => 0,
            };
            let (indices, result) = (index_strides[at], result_strides[place]);
            batch.push(Batch { size: *size, indices, result, operand });
        }
        let starts = numbers
            .start_index_map
            .iter()
            .map(|at| {
                let at = *at as usize;
                let slice = *numbers.slice_sizes.get(at)? as usize;
                Some(Start { size: *operand.get(at)?, slice, stride: operand_strides[at] })
            })
            .collect::<Option<Vec<_>>>()?;
        let left_out = |at: usize| {
            numbers.collapsed_slice_dims.contains(&(at as i64))
                || numbers.operand_batching_dims.contains(&(at as i64))
        };
        let mut places = numbers.offset_dims.iter();
        let mut slice = Vec::new();
        for at in (0..operand.len()).filter(|at| !left_out(*at)) {
            let place = *places.next()? as usize;
            slice.push(Run {
                size: numbers.slice_sizes[at] as usize,
                from: operand_strides[at] as isize,
                to: result_strides[place] as isize,
            });
        }
        Some(Self {
            element_bytes,
            index_dtype,
            batch,
            starts,
            index_stride: index_strides.get(vector).copied().unwrap_or(0),
            slice_elements: slice.iter().map(|run| run.size).product(),
            slice: joined(slice),
            cost,
        })
    }

    fn count(&self) -> usize {
        self.batch.iter().map(|batch| batch.size).product()
    }
}

/// Addresses that threads share; each writes its own slices.
#[derive(Clone, Copy)]
struct Addresses {
    operand: *const u8,
    indices: *const u8,
    result: *mut u8,
}

// SAFETY: every slice of the result is written by one task; the rest is only read.
unsafe impl Sync for Addresses {}

impl Kernel for Gathering {
    fn backend(&self) -> &'static str {
        "gather"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let addresses = Addresses { operand: inputs[0], indices: inputs[1], result: outputs[0] };
        // A task copies some 16 KiB at least.
        let grain = (16 << 10) / (self.slice_elements * self.element_bytes).max(1);
        pool.run_ranges(self.count(), grain.max(1), 4, &|range| {
            let Addresses { operand, indices, result } = { addresses };
            for number in range {
                let (mut index, mut to, mut from) = (0, 0, 0);
                let mut rest = number;
                for batch in self.batch.iter().rev() {
                    let at = rest % batch.size;
                    rest /= batch.size;
                    index += at * batch.indices;
                    to += at * batch.result;
                    from += at * batch.operand;
                }
                for (part, start) in self.starts.iter().enumerate() {
                    // SAFETY: the index lies within the indices.
                    let value = unsafe {
                        read(indices, self.index_dtype, index + part * self.index_stride)
                    };
                    from += clamped(value, start.size, start.slice) * start.stride;
                }
                // SAFETY: starts are held within the operand; slices of the result are apart.
                unsafe {
                    copy_runs(
                        &self.slice,
                        operand.add(from * self.element_bytes),
                        result.add(to * self.element_bytes),
                        self.element_bytes,
                    );
                }
            }
        });
        Ok(())
    }
}
