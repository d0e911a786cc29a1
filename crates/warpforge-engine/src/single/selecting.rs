//! `select_and_scatter`: each window chooses one of its elements, which is given the window's gradient; how the gradient of a
//! maximum over windows is computed.
//!
//! What always holds: elements that no window slides along are independent of one another and each is done by one thread, its
//! windows in order, so that the result does not depend on how the work was cut.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Binary, CompareKind, Direction, Function, OpKind, Region};
use warpforge_tensor::DType;

use super::Memory;
use super::arithmetic::{Arithmetic, WithArithmetic, combines, with_arithmetic};
use super::window::{Dimension, dimensions, next, place};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::pattern::{combining, sizes};
use crate::pool::Pool;

/// The kernel.
pub(crate) struct Selecting {
    /// Operands of the cluster: the tensor, the gradient, the initial value.
    operands: [usize; 3],
    dtype: DType,
    /// When the chosen element stays chosen beside a later one.
    stays: Direction,
    op: Binary,
    /// Dimensions along which the window does not move, and those along which it does.
    apart: Vec<Dimension>,
    sliding: Vec<Dimension>,
    cost: Cost,
}

/// The comparison of a region's two arguments.
fn comparing(region: &Region) -> Option<Direction> {
    let ([a, b], [op, end]) = (region.arguments.as_slice(), region.ops.as_slice()) else {
        return None;
    };
    let OpKind::Compare { direction, kind } = &op.kind else { return None };
    let plain = op.operands == [*a, *b] && end.operands == op.results;
    (plain && *kind != Some(CompareKind::TotalOrder)).then_some(*direction)
}

/// Reads a function of one `select_and_scatter`.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Selecting> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let OpKind::SelectAndScatter(window) = &op.kind else { return None };
    let ([tensor, source, initial], [select, scatter]) =
        (op.operands.as_slice(), op.regions.as_slice())
    else {
        return None;
    };
    let ty = function.ty(*tensor).tensor()?;
    let (dtype, from) = (ty.dtype()?, sizes(ty)?);
    let to = sizes(function.ty(*source).tensor()?)?;
    let combined = combining(scatter)?;
    let same = function.ty(*source).tensor()?.dtype()? == dtype;
    if !combines(combined, dtype) || dtype == DType::I1 || !same {
        return None;
    }
    let still = |dimension: &Dimension| {
        dimension.window == 1
            && dimension.stride == 1
            && dimension.low == 0
            && dimension.from == dimension.to
    };
    let (apart, sliding): (Vec<_>, Vec<_>) =
        dimensions(window, &from, &to)?.into_iter().partition(still);
    let places: usize = sliding.iter().map(|dimension| dimension.window).product();
    let flops = to.iter().product::<usize>().saturating_mul(places) as u64;
    let argument = |value| function.body.arguments.iter().position(|argument| *argument == value);
    Some(Selecting {
        operands: [argument(*tensor)?, argument(*source)?, argument(*initial)?],
        dtype,
        stays: comparing(select)?,
        op: combined,
        apart,
        sliding,
        cost: Cost { flops, ..cost },
    })
}

/// One launch.
struct Run<'a> {
    kernel: &'a Selecting,
    pool: &'a Pool,
    tensor: *const u8,
    source: *const u8,
    initial: *const u8,
    to: *mut u8,
}

impl Selecting {
    fn stays<W: Copy + PartialOrd>(&self, chosen: W, later: W) -> bool {
        match self.stays {
            Direction::Ge => chosen >= later,
            Direction::Gt => chosen > later,
            Direction::Le => chosen <= later,
            Direction::Lt => chosen < later,
            Direction::Eq => chosen == later,
            Direction::Ne => chosen != later,
        }
    }

    /// Where in the tensor and among the sums the place of a window lies, where it shows an element.
    fn shown(&self, at: &[usize], window: &[usize]) -> Option<(usize, usize)> {
        let (mut from, mut sum) = (0, 0);
        for ((dimension, at), window) in self.sliding.iter().zip(at).zip(window) {
            let shown = dimension.shown(*at, *window)?;
            from += shown * dimension.from_step;
            sum = sum * dimension.from + shown;
        }
        Some((from, sum))
    }
}

impl WithArithmetic for Run<'_> {
    fn run<T: Copy, W: Copy + PartialOrd + Send + Sync, A: Arithmetic<T, W>>(self, arithmetic: A) {
        let Run { kernel, pool, tensor, source, initial, to } = self;
        let Selecting { apart, sliding, .. } = kernel;
        // SAFETY: the promise of the launch.
        let initial = arithmetic.load(unsafe { *initial.cast::<T>() });
        let size = |pick: fn(&Dimension) -> usize| sliding.iter().map(pick).product::<usize>();
        let (elements, windows) =
            (size(|dimension| dimension.from), size(|dimension| dimension.to));
        let count: usize = apart.iter().map(|dimension| dimension.to).product();
        let gradients = Memory { from: source.cast::<T>(), to: to.cast::<T>() };
        let values = Memory { from: tensor.cast::<T>(), to: std::ptr::null_mut::<T>() };
        let work = kernel.cost.flops as usize / count.max(1);
        pool.run_ranges(count, (1 << 13) / work.max(1), 4, &|range| {
            let (gradients, values) = (&gradients, &values);
            let mut sums = vec![initial; elements];
            let mut apart_at = vec![0; apart.len()];
            let (mut at, mut window) = (vec![0; sliding.len()], vec![0; sliding.len()]);
            for number in range {
                sums.fill(initial);
                let source_start = place(number, apart, &mut apart_at);
                let start: usize =
                    apart.iter().zip(&apart_at).map(|(own, at)| own.from_step * at).sum();
                for position in 0..windows {
                    let gradient = source_start + place(position, sliding, &mut at);
                    let mut chosen: Option<(W, usize)> = None;
                    window.fill(0);
                    loop {
                        if let Some((from, sum)) = kernel.shown(&at, &window) {
                            // SAFETY: the place is that of an element.
                            let value = unsafe { *values.from.add(start + from) };
                            let value = arithmetic.load(value);
                            if chosen.is_none_or(|(best, _)| !kernel.stays(best, value)) {
                                chosen = Some((value, sum));
                            }
                        }
                        if !next(&mut window, sliding) {
                            break;
                        }
                    }
                    if let Some((_, sum)) = chosen {
                        // SAFETY: the place is that of a gradient.
                        let gradient = arithmetic.load(unsafe { *gradients.from.add(gradient) });
                        sums[sum] = arithmetic.combine(sums[sum], gradient);
                    }
                }
                for (index, sum) in sums.iter().enumerate() {
                    let (mut rest, mut offset) = (index, start);
                    for dimension in sliding.iter().rev() {
                        offset += rest % dimension.from * dimension.from_step;
                        rest /= dimension.from;
                    }
                    // SAFETY: the result has the shape of the tensor, and this thread alone writes these elements.
                    unsafe { *gradients.to.add(offset) = arithmetic.store(*sum) };
                }
            }
        });
    }
}

impl Kernel for Selecting {
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
        let [tensor, source, initial] = self.operands.map(|operand| inputs[operand]);
        let run = Run { kernel: self, pool, tensor, source, initial, to: outputs[0] };
        with_arithmetic(self.dtype, self.op, run);
        Ok(())
    }
}
