//! `reduce_window`: a window slides over a tensor and what it shows is combined into one element.
//!
//! What always holds: places outside the tensor hold nothing and are left out, as in the reference tier; each element of the
//! result is made by one thread, its window in order, so that the result does not depend on how the work was cut. Sums and
//! products of floats are kept in f64, as the reference tier keeps them.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Binary, Function, OpKind, Window};
use warpforge_tensor::DType;

use super::Memory;
use super::arithmetic::{Arithmetic, WithArithmetic, combines, with_arithmetic};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::loops::Isa;
use crate::loops::vector::dispatch;
use crate::pattern::{combining, sizes};
use crate::pool::Pool;

/// One dimension of the tensor, the window and the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dimension {
    /// Elements of the tensor and of the result.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) window: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) low: i64,
    /// How far apart elements of the tensor are, and of the result.
    pub(super) from_step: usize,
    pub(super) to_step: usize,
}

impl Dimension {
    /// The place in the tensor that a place of the window shows for a place of the result.
    pub(super) fn shown(&self, to: usize, window: usize) -> Option<usize> {
        let at = (to * self.stride + window * self.dilation) as i64 - self.low;
        usize::try_from(at).ok().filter(|at| *at < self.from)
    }

    /// Whether the window does not move along it.
    fn is_still(&self) -> bool {
        (self.window, self.stride, self.low, self.from) == (1, 1, 0, self.to)
    }

    /// The places of the result for which a place of the window shows an element.
    fn inside(&self, window: usize) -> std::ops::Range<usize> {
        // The first place with `to * stride + shift >= 0`, and the first with `>= from`.
        let shift = (window * self.dilation) as i64 - self.low;
        let reach = |bound: i64| {
            let places = (bound - shift).max(0) as usize;
            places.div_ceil(self.stride).min(self.to)
        };
        let first = reach(0);
        first..reach(self.from as i64).max(first)
    }

    /// The places of the result for which all of the window shows elements.
    fn all_inside(&self) -> std::ops::Range<usize> {
        self.inside(0).start..self.inside(self.window.saturating_sub(1)).end
    }
}

/// The kernel.
pub(crate) struct Sliding {
    /// Operands of the cluster: the tensor and the initial value.
    operands: [usize; 2],
    dtype: DType,
    op: Binary,
    /// All dimensions but the one that is computed many elements at a time.
    outer: Vec<Dimension>,
    lane: Dimension,
    cost: Cost,
}

/// Reads a function of one `reduce_window`.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Sliding> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let OpKind::ReduceWindow(window) = &op.kind else { return None };
    let ([tensor, initial], [result], [region]) =
        (op.operands.as_slice(), op.results.as_slice(), op.regions.as_slice())
    else {
        return None;
    };
    let ty = function.ty(*tensor).tensor()?;
    let (dtype, from) = (ty.dtype()?, sizes(ty)?);
    let to = sizes(function.ty(*result).tensor()?)?;
    let op = combining(region)?;
    if !combines(op, dtype) {
        return None;
    }
    let dimensions = dimensions(window, &from, &to)?;
    let (outer, lane) = split(dimensions);
    let places: usize = outer.iter().chain([&lane]).map(|dimension| dimension.window).product();
    let flops = to.iter().product::<usize>().saturating_mul(places) as u64;
    let argument = |value| function.body.arguments.iter().position(|argument| *argument == value);
    Some(Sliding {
        operands: [argument(*tensor)?, argument(*initial)?],
        dtype,
        op,
        outer,
        lane,
        cost: Cost { flops, ..cost },
    })
}

pub(super) fn dimensions(window: &Window, from: &[usize], to: &[usize]) -> Option<Vec<Dimension>> {
    let entry = |values: &[i64], at: usize| -> Option<usize> {
        usize::try_from(values.get(at).copied().unwrap_or(1)).ok()
    };
    if window.base_dilations.iter().any(|dilation| *dilation != 1) {
        return None;
    }
    let steps = |sizes: &[usize], at: usize| sizes[at + 1..].iter().product::<usize>();
    (0..from.len())
        .map(|at| {
            Some(Dimension {
                from: from[at],
                to: to[at],
                window: entry(&window.sizes, at)?,
                stride: entry(&window.strides, at)?.max(1),
                dilation: entry(&window.dilations, at)?,
                low: window.padding.get(at).map_or(0, |(low, _)| *low),
                from_step: steps(from, at),
                to_step: steps(to, at),
            })
        })
        .collect()
}

/// The dimension that is computed many elements at a time, apart: the innermost ones that the window does not move along, as
/// one, or the innermost.
fn split(mut dimensions: Vec<Dimension>) -> (Vec<Dimension>, Dimension) {
    let whole = |size: usize| Dimension {
        from: size,
        to: size,
        window: 1,
        stride: 1,
        dilation: 1,
        low: 0,
        from_step: 1,
        to_step: 1,
    };
    let mut run = 1;
    while let Some(last) = dimensions.last()
        && last.is_still()
    {
        run *= last.to;
        dimensions.pop();
    }
    if run == 1
        && let Some(last) = dimensions.pop()
    {
        return (dimensions, last);
    }
    (dimensions, whole(run))
}

impl Sliding {
    /// # Safety
    ///
    /// `memory` leads to the whole tensor and to room for the whole result.
    unsafe fn slide<T: Copy, W: Copy + Send + Sync>(
        &self,
        pool: &Pool,
        memory: Memory<T>,
        initial: T,
        arithmetic: impl Arithmetic<T, W>,
    ) {
        let positions: usize = self.outer.iter().map(|dimension| dimension.to).product();
        let work = self.cost.flops as usize / positions.max(1);
        let grain = (1 << 14) / work.max(1);
        let (isa, lane) = (Isa::usable(), &self.lane);
        let initial = arithmetic.load(initial);
        // By value: what is called through a reference is not always made part of the loop.
        let load = move |x| arithmetic.load(x);
        let combine = move |a, b| arithmetic.combine(a, b);
        let store = move |x| arithmetic.store(x);
        if lane.is_still() {
            pool.run_ranges(positions, grain, 4, &|range| {
                let memory = &memory;
                let mut shown = Shown::new(&self.outer);
                for position in range {
                    let to = shown.go_to(position);
                    let runs = shown.starts.iter().map(|start| {
                        // SAFETY: what the window shows lies within the tensor, as many elements as a lane has.
                        unsafe { std::slice::from_raw_parts(memory.from.add(*start), lane.to) }
                    });
                    // SAFETY: the result has a lane for each position, and this thread alone writes it.
                    let out = unsafe { std::slice::from_raw_parts_mut(memory.to.add(to), lane.to) };
                    dispatch!(isa, combine_runs(out, &runs, initial, load, combine, store));
                }
            });
            return;
        }
        pool.run_ranges(positions, grain, 4, &|range| {
            // The whole is used, not the field alone, so that what says it may be shared counts.
            let memory = &memory;
            let mut sums = vec![initial; lane.to];
            let mut at = vec![0; self.outer.len()];
            let mut window = vec![0; self.outer.len()];
            for position in range {
                sums.fill(initial);
                let to = place(position, &self.outer, &mut at);
                window.fill(0);
                loop {
                    let start = self.start(&at, &window);
                    for place in 0..lane.window {
                        let inside = lane.inside(place);
                        let shown = (!inside.is_empty()).then(|| lane.shown(inside.start, place));
                        let (Some(start), Some(Some(first))) = (start, shown) else { continue };
                        let sums = &mut sums[inside];
                        let reach = (sums.len() - 1) * lane.stride + 1;
                        // SAFETY: the lane lies within the tensor from its first to its last element.
                        let from = unsafe {
                            std::slice::from_raw_parts(memory.from.add(start + first), reach)
                        };
                        dispatch!(isa, accumulate(sums, from, lane.stride, load, combine));
                    }
                    if !next(&mut window, &self.outer) {
                        break;
                    }
                }
                // SAFETY: the result has a lane for each position, and this thread alone writes it.
                let out = unsafe { std::slice::from_raw_parts_mut(memory.to.add(to), lane.to) };
                for (out, sum) in out.iter_mut().zip(&sums) {
                    *out = arithmetic.store(*sum);
                }
            }
        });
    }

    /// Where in the tensor the lane begins that a place of the window shows, where it shows any.
    fn start(&self, at: &[usize], window: &[usize]) -> Option<usize> {
        let mut start = 0;
        for ((dimension, at), window) in self.outer.iter().zip(at).zip(window) {
            start += dimension.shown(*at, *window)? * dimension.from_step;
        }
        Some(start)
    }
}

/// Where in the tensor the lanes begin that the window shows, in order, from position to position.
struct Shown<'a> {
    outer: &'a [Dimension],
    at: Vec<usize>,
    /// The position after the last one, where it shows the same places of the window, one step further.
    next: Option<usize>,
    starts: Vec<usize>,
}

impl<'a> Shown<'a> {
    fn new(outer: &'a [Dimension]) -> Self {
        Self { outer, at: vec![0; outer.len()], next: None, starts: Vec::new() }
    }

    /// The place of the result where a position begins.
    fn go_to(&mut self, position: usize) -> usize {
        let to = place(position, self.outer, &mut self.at);
        let last = self.outer.last().zip(self.at.last());
        let inner = last.map_or(0..0, |(last, _)| last.all_inside());
        match last {
            Some((last, at)) if self.next == Some(position) && inner.contains(at) => {
                let step = last.stride * last.from_step;
                self.starts.iter_mut().for_each(|start| *start += step);
            }
            _ => {
                self.starts.clear();
                collect(self.outer, &self.at, 0, &mut self.starts);
            }
        }
        let goes_on = last.is_some_and(|(_, at)| inner.contains(at) && inner.contains(&(at + 1)));
        self.next = goes_on.then_some(position + 1);
        to
    }
}

/// Where the lanes begin from some dimension on.
fn collect(outer: &[Dimension], at: &[usize], start: usize, starts: &mut Vec<usize>) {
    let ([dimension, outer @ ..], [place, at @ ..]) = (outer, at) else {
        starts.push(start);
        return;
    };
    for window in 0..dimension.window {
        if let Some(shown) = dimension.shown(*place, window) {
            collect(outer, at, start + shown * dimension.from_step, starts);
        }
    }
}

/// The place of the result where a position begins, and its index in each dimension.
pub(super) fn place(mut position: usize, outer: &[Dimension], at: &mut [usize]) -> usize {
    let mut to = 0;
    for (dimension, at) in outer.iter().zip(at).rev() {
        *at = position % dimension.to;
        position /= dimension.to;
        to += *at * dimension.to_step;
    }
    to
}

/// Steps to the next place of the window; false after the last.
pub(super) fn next(window: &mut [usize], outer: &[Dimension]) -> bool {
    for (dimension, at) in outer.iter().zip(window).rev() {
        *at += 1;
        if *at < dimension.window {
            return true;
        }
        *at = 0;
    }
    false
}

/// One launch.
struct Run<'a> {
    kernel: &'a Sliding,
    pool: &'a Pool,
    tensor: *const u8,
    initial: *const u8,
    to: *mut u8,
}

impl WithArithmetic for Run<'_> {
    fn run<T: Copy, W: Copy + PartialOrd + Send + Sync, A: Arithmetic<T, W>>(self, arithmetic: A) {
        let memory = Memory { from: self.tensor.cast::<T>(), to: self.to.cast::<T>() };
        // SAFETY: the promise of the launch: the initial value is there, tensor and result are whole.
        unsafe { self.kernel.slide(self.pool, memory, *self.initial.cast::<T>(), arithmetic) };
    }
}

impl Kernel for Sliding {
    fn backend(&self) -> &'static str {
        "window"
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
        let [tensor, initial] = self.operands.map(|operand| inputs[operand]);
        let run = Run { kernel: self, pool, tensor, initial, to: outputs[0] };
        with_arithmetic(self.dtype, self.op, run);
        Ok(())
    }
}
