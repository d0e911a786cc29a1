//! `scatter`: updates folded into an operand at places that indices say, such as gradients into the rows of an embedding.
//!
//! What always holds: updates of one element are folded in the order the reference tier takes, by one thread. Where windows
//! of different indices share no element, those of one index are folded together; otherwise the whole goes in order.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Binary, Function, OpKind, Region, Scatter};
use warpforge_tensor::{DType, Shape};

use super::Memory;
use super::arithmetic::{Arithmetic, WithArithmetic, combines, with_arithmetic};
use super::index::{is_index, read};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::loops::Isa;
use crate::loops::vector::dispatch;
use crate::pattern::{combining, sizes};
use crate::pool::Pool;

/// A dimension of the updates: so many elements, how far apart there and in the operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dimension {
    size: usize,
    updates: usize,
    operand: usize,
    /// How far apart the indices are, for a dimension that goes through them.
    indices: Option<usize>,
    /// The size of the operand's dimension and which start it moves, for one of the window.
    within: Option<(usize, Option<usize>)>,
}

/// A dimension of the operand whose place an index says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    size: usize,
    stride: usize,
    /// Whether the window has more than one element there.
    wide: bool,
}

/// The kernel.
pub(crate) struct Scattering {
    /// Operands of the cluster: the tensor, the indices, the updates.
    operands: [usize; 3],
    dtype: DType,
    index_dtype: DType,
    op: Binary,
    /// Whether an update takes the element's place, whatever that was.
    replaces: bool,
    /// The dimensions of the updates, outermost first.
    dimensions: Vec<Dimension>,
    starts: Vec<Start>,
    /// How far apart the parts of one index are.
    index_stride: usize,
    elements: usize,
    cost: Cost,
}

/// What a region does with an element and its update: combines them, or takes the update.
fn folding(region: &Region) -> Option<Option<Binary>> {
    if let ([_, update], [end]) = (region.arguments.as_slice(), region.ops.as_slice()) {
        return (end.operands == [*update]).then_some(None);
    }
    combining(region).map(Some)
}

/// Reads a function of one scatter of one tensor.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Scattering> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let OpKind::Scatter(numbers) = &op.kind else { return None };
    let ([tensor, indices, updates], [region]) = (op.operands.as_slice(), op.regions.as_slice())
    else {
        return None;
    };
    let argument = |value| function.body.arguments.iter().position(|argument| *argument == value);
    let operands = [argument(*tensor)?, argument(*indices)?, argument(*updates)?];
    let typed = |value| {
        let ty = function.ty(value).tensor()?;
        Some((ty.dtype()?, sizes(ty)?))
    };
    let ((dtype, tensor), (index_dtype, indices), (update_dtype, updates)) =
        (typed(*tensor)?, typed(*indices)?, typed(*updates)?);
    let fold = folding(region)?;
    // Where an update takes an element's place, any arithmetic that keeps what it loads will do.
    let keeping = if dtype == DType::I1 { Binary::Or } else { Binary::Maximum };
    let combined = fold.unwrap_or(keeping);
    if !combines(combined, dtype) || !is_index(index_dtype) || update_dtype != dtype {
        return None;
    }
    let (dimensions, starts, index_stride) = layout(numbers, [&tensor, &indices, &updates])?;
    Some(Scattering {
        operands,
        dtype,
        index_dtype,
        op: combined,
        replaces: fold.is_none(),
        dimensions,
        starts,
        index_stride,
        elements: tensor.iter().product(),
        cost: Cost { flops: updates.iter().product::<usize>() as u64, ..cost },
    })
}

/// The dimensions of the updates, what indices say, and how far apart the parts of one index are.
fn layout(
    numbers: &Scatter,
    [tensor, indices, updates]: [&[usize]; 3],
) -> Option<(Vec<Dimension>, Vec<Start>, usize)> {
    let strides = |sizes: &[usize]| Some(Shape::new(sizes).ok()?.strides());
    let (in_tensor, in_indices, in_updates) =
        (strides(tensor)?, strides(indices)?, strides(updates)?);
    let vector = numbers.index_vector_dim as usize;
    let left_out = |at: usize| {
        numbers.inserted_window_dims.contains(&(at as i64))
            || numbers.input_batching_dims.contains(&(at as i64))
    };
    let mut kept = (0..tensor.len()).filter(|at| !left_out(*at));
    let mut batch_places = (0..indices.len()).filter(|at| *at != vector);
    let mut wide = vec![false; tensor.len()];
    let mut dimensions = Vec::with_capacity(updates.len());
    for (at, size) in updates.iter().enumerate() {
        let step = in_updates[at];
        dimensions.push(if numbers.update_window_dims.contains(&(at as i64)) {
            let own = kept.next()?;
            wide[own] = *size > 1;
            let moved = numbers.scatter_dims_to_operand_dims.iter().position(|d| *d == own as i64);
            Dimension {
                size: *size,
                updates: step,
                operand: in_tensor[own],
                indices: None,
                within: Some((tensor[own], moved)),
            }
        } else {
            let own = batch_places.next()?;
            let batching =
                numbers.scatter_indices_batching_dims.iter().position(|d| *d == own as i64);
            let operand = match batching {
                Some(which) => in_tensor[*numbers.input_batching_dims.get(which)? as usize],
                None => 0,
            };
            Dimension {
                size: *size,
                updates: step,
                operand,
                indices: Some(in_indices[own]),
                within: None,
            }
        });
    }
    let starts = numbers.scatter_dims_to_operand_dims.iter().map(|at| {
        let at = *at as usize;
        Some(Start { size: *tensor.get(at)?, stride: in_tensor[at], wide: wide[at] })
    });
    let stride = in_indices.get(vector).copied().unwrap_or(0);
    Some((dimensions, starts.collect::<Option<_>>()?, stride))
}

/// Where an element of the windows is, from where they begin in the updates and in the operand.
fn offsets(window: &[&Dimension], element: usize) -> (usize, usize) {
    let (mut rest, mut from, mut to) = (element, 0, 0);
    for dimension in window.iter().rev() {
        let at = rest % dimension.size;
        rest /= dimension.size;
        from += at * dimension.updates;
        to += at * dimension.operand;
    }
    (from, to)
}

/// Elements worked on at a time: their sums stay in the first cache.
const CHUNK: usize = 512;

/// One launch.
struct Run<'a> {
    kernel: &'a Scattering,
    pool: &'a Pool,
    indices: *const u8,
    updates: *const u8,
    to: *mut u8,
}

impl Scattering {
    fn batch(&self) -> impl DoubleEndedIterator<Item = &Dimension> {
        self.dimensions.iter().filter(|dimension| dimension.indices.is_some())
    }

    fn window(&self) -> impl DoubleEndedIterator<Item = &Dimension> {
        self.dimensions.iter().filter(|dimension| dimension.indices.is_none())
    }

    /// What an index says, part by part.
    ///
    /// # Safety
    ///
    /// `indices` leads to all indices, `at` to the first part of one.
    unsafe fn said(&self, indices: *const u8, at: usize, said: &mut Vec<i64>) {
        said.clear();
        // SAFETY: the caller's promise.
        let part = |part| unsafe { read(indices, self.index_dtype, at + part * self.index_stride) };
        said.extend((0..self.starts.len()).map(part));
    }

    /// Where in the operand the windows of all indices begin, and where in the updates; those outside are left out. Only for
    /// windows of one element along what indices say.
    unsafe fn begins(&self, indices: *const u8) -> Vec<(usize, usize)> {
        let count: usize = self.batch().map(|dimension| dimension.size).product();
        let mut begins = Vec::with_capacity(count);
        let mut said = Vec::with_capacity(self.starts.len());
        for number in 0..count {
            let (mut rest, mut index, mut from, mut to) = (number, 0, 0, 0);
            for dimension in self.batch().rev() {
                let at = rest % dimension.size;
                rest /= dimension.size;
                index += at * dimension.indices.unwrap_or(0);
                from += at * dimension.updates;
                to += at * dimension.operand;
            }
            // SAFETY: the number is that of an index.
            unsafe { self.said(indices, index, &mut said) };
            let inside = self.starts.iter().zip(&said).all(|(start, value)| {
                let place = usize::try_from(*value).ok().filter(|place| *place < start.size);
                to += place.unwrap_or(0) * start.stride;
                place.is_some()
            });
            if inside {
                begins.push((to, from));
            }
        }
        begins
    }
}

impl Run<'_> {
    /// Windows that share nothing unless they are the same: those of one place together.
    fn together<T: Copy, W: Copy + Send + Sync>(&self, arithmetic: &impl Arithmetic<T, W>) {
        // SAFETY: the promise of the launch.
        let mut begins = unsafe { self.kernel.begins(self.indices) };
        // The order of one place's updates stays.
        begins.sort_by_key(|(to, _)| *to);
        let groups: Vec<&[(usize, usize)]> = begins.chunk_by(|a, b| a.0 == b.0).collect();
        let mut window: Vec<&Dimension> = self.kernel.window().collect();
        let inner = window.pop_if(|last| last.updates == 1 && last.operand == 1);
        let run = inner.map_or(1, |inner| inner.size);
        let rows: usize = window.iter().map(|dimension| dimension.size).product();
        let (replaces, isa) = (self.kernel.replaces, Isa::usable());
        let (load, combine) = (|x| arithmetic.load(x), |a, b| arithmetic.combine(a, b));
        let memory = Memory { from: self.updates.cast::<T>(), to: self.to.cast::<T>() };
        if run == 1 && rows > 1 {
            return self.far_apart(arithmetic, &groups, &window, &memory);
        }
        let work = rows * run * (begins.len() / groups.len().max(1)).max(1);
        self.pool.run_ranges(groups.len(), (1 << 13) / work.max(1), 4, &|range| {
            let memory = &memory;
            let mut sums: Vec<W> = Vec::with_capacity(CHUNK.min(run));
            for group in &groups[range] {
                for row in 0..rows {
                    let (from, to) = offsets(&window, row);
                    for chunk in (0..run).step_by(CHUNK) {
                        let length = CHUNK.min(run - chunk);
                        let place = group[0].0 + to + chunk;
                        // SAFETY: the window lies within the operand, and this thread alone has its elements.
                        let out =
                            unsafe { std::slice::from_raw_parts_mut(memory.to.add(place), length) };
                        let updates = |begin: usize| {
                            // SAFETY: the window of updates is within them.
                            unsafe {
                                let first = memory.from.add(begin + from + chunk);
                                std::slice::from_raw_parts(first, length)
                            }
                        };
                        if replaces {
                            out.copy_from_slice(updates(group[group.len() - 1].1));
                            continue;
                        }
                        sums.clear();
                        sums.extend(out.iter().map(|element| arithmetic.load(*element)));
                        for (_, begin) in *group {
                            dispatch!(
                                isa,
                                accumulate(&mut sums, updates(*begin), 1, &load, &combine)
                            );
                        }
                        for (out, sum) in out.iter_mut().zip(&sums) {
                            *out = arithmetic.store(*sum);
                        }
                    }
                }
            }
        });
    }

    /// The same where elements of a window lie apart: an element of all windows before the next one, since these lie closer.
    fn far_apart<T: Copy, W: Copy + Send + Sync>(
        &self,
        arithmetic: &impl Arithmetic<T, W>,
        groups: &[&[(usize, usize)]],
        window: &[&Dimension],
        memory: &Memory<T>,
    ) {
        let rows: usize = window.iter().map(|dimension| dimension.size).product();
        self.pool.run_ranges(groups.len() * rows, 1 << 12, 4, &|mut range| {
            while !range.is_empty() {
                let (row, first) = (range.start / groups.len(), range.start % groups.len());
                let some = &groups[first..groups.len().min(first + range.len())];
                let (from, to) = offsets(window, row);
                for group in some {
                    let update = |begin: usize| {
                        // SAFETY: the window of updates is within them.
                        unsafe { *memory.from.add(begin + from) }
                    };
                    // SAFETY: the window lies within the operand, and this thread alone has the element.
                    let out = unsafe { &mut *memory.to.add(group[0].0 + to) };
                    *out = if self.kernel.replaces {
                        update(group[group.len() - 1].1)
                    } else {
                        let all = group.iter().map(|(_, begin)| arithmetic.load(update(*begin)));
                        let first = arithmetic.load(*out);
                        arithmetic.store(all.fold(first, |sum, next| arithmetic.combine(sum, next)))
                    };
                }
                range.start += some.len();
            }
        });
    }

    /// Windows that may share elements in part: all updates in their order.
    fn in_order<T: Copy, W: Copy + Send + Sync>(&self, arithmetic: &impl Arithmetic<T, W>) {
        let kernel = self.kernel;
        // SAFETY: the promise of the launch: the result is whole.
        let out = unsafe { std::slice::from_raw_parts_mut(self.to.cast::<T>(), kernel.elements) };
        let mut sums: Vec<W> = out.iter().map(|element| arithmetic.load(*element)).collect();
        let count: usize = kernel.dimensions.iter().map(|dimension| dimension.size).product();
        let mut said = Vec::with_capacity(kernel.starts.len());
        // How far into the window an update is, along what indices say.
        let mut moves: Vec<i64> = vec![0; kernel.starts.len()];
        for number in 0..count {
            let (mut rest, mut index, mut from, mut to) = (number, 0, 0, 0);
            let mut inside = true;
            moves.fill(0);
            for dimension in kernel.dimensions.iter().rev() {
                let at = rest % dimension.size;
                rest /= dimension.size;
                index += at * dimension.indices.unwrap_or(0);
                from += at * dimension.updates;
                to += at * dimension.operand;
                match dimension.within {
                    Some((_, Some(start))) => moves[start] = at as i64,
                    Some((size, None)) => inside &= at < size,
                    None => {}
                }
            }
            // SAFETY: the number is that of an update.
            unsafe { kernel.said(self.indices, index, &mut said) };
            for ((start, value), moved) in kernel.starts.iter().zip(&said).zip(&moves) {
                let place = value.saturating_add(*moved);
                inside &= place >= 0 && (place as u64) < start.size as u64;
                // Elements outside are left out, so that what is added here does not matter for them.
                to = to.wrapping_add((*value as usize).wrapping_mul(start.stride));
            }
            if inside {
                // SAFETY: the number is that of an update.
                let update = arithmetic.load(unsafe { *self.updates.cast::<T>().add(from) });
                sums[to] =
                    if kernel.replaces { update } else { arithmetic.combine(sums[to], update) };
            }
        }
        for (out, sum) in out.iter_mut().zip(&sums) {
            *out = arithmetic.store(*sum);
        }
    }
}

impl WithArithmetic for Run<'_> {
    fn run<T: Copy, W: Copy + PartialOrd + Send + Sync, A: Arithmetic<T, W>>(self, arithmetic: A) {
        if self.kernel.starts.iter().any(|start| start.wide) {
            self.in_order(&arithmetic);
        } else {
            self.together(&arithmetic);
        }
    }
}

impl Kernel for Scattering {
    fn backend(&self) -> &'static str {
        "scatter"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn overwrites(&self) -> Option<usize> {
        let [tensor, indices, updates] = self.operands;
        (tensor != indices && tensor != updates).then_some(tensor)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let [tensor, indices, updates] = self.operands.map(|operand| inputs[operand]);
        let to = outputs[0];
        if tensor != to.cast_const() {
            let memory = Memory { from: tensor, to };
            pool.run_ranges(self.elements * self.dtype.bytes(), 1 << 18, 4, &|range| {
                let memory = &memory;
                // SAFETY: both are whole and do not overlap.
                unsafe {
                    let (from, to) = (memory.from.add(range.start), memory.to.add(range.start));
                    std::ptr::copy_nonoverlapping(from, to, range.len());
                }
            });
        }
        let empty = self.dimensions.iter().any(|dimension| dimension.size == 0);
        if !empty && self.elements > 0 {
            with_arithmetic(self.dtype, self.op, Run { kernel: self, pool, indices, updates, to });
        }
        Ok(())
    }
}
