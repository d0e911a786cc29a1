//! `reduce_window`: a window slides over a tensor and what it shows is combined into one element.
//!
//! What always holds: places outside the tensor hold nothing and are left out, as in the reference tier; each element of the
//! result is made by one thread, its window in order, so that the result does not depend on how the work was cut. Sums and
//! products of floats are kept in f64, as the reference tier keeps them.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Binary, Function, OpKind, Window};
use warpforge_tensor::DType;

use super::Memory;
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::loops::narrow::{from_bf16, from_f16, to_bf16, to_f16};
use crate::loops::vector::{Isa, Lane, Truth, dispatch};
use crate::pattern::{combining, sizes};
use crate::pool::Pool;

/// One dimension of the tensor, the window and the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dimension {
    /// Elements of the tensor and of the result.
    from: usize,
    to: usize,
    window: usize,
    stride: usize,
    dilation: usize,
    low: i64,
    /// How far apart elements of the tensor are, and of the result.
    from_step: usize,
    to_step: usize,
}

impl Dimension {
    /// The place in the tensor that a place of the window shows for a place of the result.
    fn shown(&self, to: usize, window: usize) -> Option<usize> {
        let at = (to * self.stride + window * self.dilation) as i64 - self.low;
        usize::try_from(at).ok().filter(|at| *at < self.from)
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

/// Whether elements of a type can be combined by an op.
fn combines(op: Binary, dtype: DType) -> bool {
    let ordered = matches!(op, Binary::Add | Binary::Multiply | Binary::Maximum | Binary::Minimum);
    match dtype {
        DType::F32 | DType::F64 | DType::BF16 | DType::F16 => ordered,
        DType::I1 => matches!(op, Binary::And | Binary::Or | Binary::Xor),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => ordered || bitwise(op),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => ordered || bitwise(op),
        _ => false,
    }
}

fn bitwise(op: Binary) -> bool {
    matches!(op, Binary::And | Binary::Or | Binary::Xor)
}

fn dimensions(window: &Window, from: &[usize], to: &[usize]) -> Option<Vec<Dimension>> {
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
        && last.window == 1
        && last.stride == 1
        && last.low == 0
        && last.from == last.to
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

/// How elements are read, combined and written.
struct Arithmetic<L, S, F> {
    load: L,
    store: S,
    combine: F,
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
        arithmetic: &Arithmetic<
            impl Fn(T) -> W + Copy + Sync,
            impl Fn(W) -> T + Copy + Sync,
            impl Fn(W, W) -> W + Copy + Sync,
        >,
    ) {
        let positions: usize = self.outer.iter().map(|dimension| dimension.to).product();
        let work = self.cost.flops as usize / positions.max(1);
        let grain = (1 << 14) / work.max(1);
        let (isa, Arithmetic { load, store, combine }) = (Isa::detected(), arithmetic);
        let (initial, lane) = (load(initial), &self.lane);
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
                    *out = store(*sum);
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

    fn run_typed<T: Lane>(&self, pool: &Pool, memory: [*const u8; 2], to: *mut u8) {
        let same = Arithmetic {
            load: |x: T| x,
            store: |x: T| x,
            combine: match self.op {
                Binary::Add => T::add,
                Binary::Multiply => T::multiply,
                Binary::Maximum => T::maximum,
                Binary::Minimum => T::minimum,
                Binary::And => T::and,
                Binary::Or => T::or,
                _ => T::xor,
            },
        };
        self.run_with::<T, T>(pool, memory, to, &same);
    }

    fn run_with<T: Copy, W: Copy + Send + Sync>(
        &self,
        pool: &Pool,
        [tensor, initial]: [*const u8; 2],
        to: *mut u8,
        arithmetic: &Arithmetic<
            impl Fn(T) -> W + Copy + Sync,
            impl Fn(W) -> T + Copy + Sync,
            impl Fn(W, W) -> W + Copy + Sync,
        >,
    ) {
        let memory = Memory { from: tensor.cast::<T>(), to: to.cast::<T>() };
        // SAFETY: the caller's promise: the initial value is there, tensor and result are whole.
        unsafe { self.slide(pool, memory, *initial.cast::<T>(), arithmetic) };
    }

    /// Floats as the type their sums are kept in, or their greatest is found in.
    fn run_float<T: Copy>(
        &self,
        pool: &Pool,
        memory: [*const u8; 2],
        to: *mut u8,
        load: impl Fn(T) -> f32 + Copy + Sync,
        store: impl Fn(f32) -> T + Copy + Sync,
    ) {
        let wide_load = move |x: T| f64::from(load(x));
        let wide_store = move |x: f64| store(x as f32);
        match self.op {
            Binary::Add => {
                let combine = |a: f64, b: f64| a + b;
                let arithmetic = Arithmetic { load: wide_load, store: wide_store, combine };
                self.run_with::<T, f64>(pool, memory, to, &arithmetic);
            }
            Binary::Multiply => {
                let combine = |a: f64, b: f64| a * b;
                let arithmetic = Arithmetic { load: wide_load, store: wide_store, combine };
                self.run_with::<T, f64>(pool, memory, to, &arithmetic);
            }
            Binary::Maximum => {
                let arithmetic = Arithmetic { load, store, combine: <f32 as Lane>::maximum };
                self.run_with::<T, f32>(pool, memory, to, &arithmetic);
            }
            _ => {
                let arithmetic = Arithmetic { load, store, combine: <f32 as Lane>::minimum };
                self.run_with::<T, f32>(pool, memory, to, &arithmetic);
            }
        }
    }
}

/// The place of the result where a position begins, and its index in each dimension.
fn place(mut position: usize, outer: &[Dimension], at: &mut [usize]) -> usize {
    let mut to = 0;
    for (dimension, at) in outer.iter().zip(at).rev() {
        *at = position % dimension.to;
        position /= dimension.to;
        to += *at * dimension.to_step;
    }
    to
}

/// Steps to the next place of the window; false after the last.
fn next(window: &mut [usize], outer: &[Dimension]) -> bool {
    for (dimension, at) in outer.iter().zip(window).rev() {
        *at += 1;
        if *at < dimension.window {
            return true;
        }
        *at = 0;
    }
    false
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
        let memory = self.operands.map(|operand| inputs[operand]);
        let to = outputs[0];
        match self.dtype {
            DType::F32 => self.run_float::<f32>(pool, memory, to, |x| x, |x| x),
            DType::BF16 => self.run_float::<u16>(pool, memory, to, from_bf16, to_bf16),
            DType::F16 => self.run_float::<u16>(pool, memory, to, from_f16, to_f16),
            DType::F64 => self.run_typed::<f64>(pool, memory, to),
            DType::I8 => self.run_typed::<i8>(pool, memory, to),
            DType::I16 => self.run_typed::<i16>(pool, memory, to),
            DType::I32 => self.run_typed::<i32>(pool, memory, to),
            DType::I64 => self.run_typed::<i64>(pool, memory, to),
            DType::U8 => self.run_typed::<u8>(pool, memory, to),
            DType::U16 => self.run_typed::<u16>(pool, memory, to),
            DType::U32 => self.run_typed::<u32>(pool, memory, to),
            DType::U64 => self.run_typed::<u64>(pool, memory, to),
            _ => self.run_typed::<Truth>(pool, memory, to),
        }
        Ok(())
    }
}
