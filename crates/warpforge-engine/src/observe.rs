//! What the observable tier sees: the same plan and the same kernels as production, with counters inside. How long packing and
//! multiplying took, how evenly threads were at work, and of what each kernel wrote the range and what is no number.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use warpforge_tensor::DType;

use crate::loops::Isa;
use crate::loops::narrow::{from_bf16, from_f16};
use crate::loops::vector::dispatch;
use crate::pool::Pool;

/// A part of what a kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Operands are brought into the order in which they are multiplied.
    Packing,
    /// Products, with what is done to each tile of them.
    Products,
    /// What is done to the rows between two products.
    Rows,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Packing, Self::Products, Self::Rows];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packing => "packing",
            Self::Products => "products",
            Self::Rows => "rows",
        }
    }
}

/// The time of all threads in each phase of a kernel, where anybody wants to know.
#[derive(Debug)]
pub(crate) struct Phases {
    on: bool,
    nanoseconds: [AtomicU64; 3],
}

impl Phases {
    pub(crate) fn new(on: bool) -> Self {
        Self { on, nanoseconds: Default::default() }
    }

    /// Does a part of the work.
    pub(crate) fn timed<R>(&self, phase: Phase, work: impl FnOnce() -> R) -> R {
        self.measured(work, |time| self.add(phase, time))
    }

    /// Does a part of work that is timed as another phase already: it counts for this one instead.
    pub(crate) fn timed_within<R>(
        &self,
        outer: Phase,
        phase: Phase,
        work: impl FnOnce() -> R,
    ) -> R {
        self.measured(work, |time| {
            self.add(phase, time);
            // The outer phase adds its whole time when it ends; until then this may lie below zero, which wraps around.
            self.add(outer, time.wrapping_neg());
        })
    }

    fn measured<R>(&self, work: impl FnOnce() -> R, count: impl FnOnce(u64)) -> R {
        if !self.on {
            return work();
        }
        let start = Instant::now();
        let result = work();
        count(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        result
    }

    fn add(&self, phase: Phase, time: u64) {
        self.nanoseconds[phase as usize].fetch_add(time, Ordering::Relaxed);
    }

    /// What was counted since it was asked last.
    fn take(&self) -> [Duration; 3] {
        self.nanoseconds
            .each_ref()
            .map(|time| Duration::from_nanos(time.swap(0, Ordering::Relaxed)))
    }
}

/// What the elements of a tensor of floats are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// The least and the greatest of those that are finite; the other way round where there are none.
    pub least: f32,
    /// The greatest.
    pub greatest: f32,
    /// Elements that are no number.
    pub none: u64,
    /// Elements that are infinite.
    pub infinite: u64,
}

impl Range {
    const NOTHING: Self =
        Self { least: f32::INFINITY, greatest: f32::NEG_INFINITY, none: 0, infinite: 0 };

    fn join(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.none += other.none;
        self.infinite += other.infinite;
    }

    /// Whether all elements are finite.
    pub fn is_finite(&self) -> bool {
        self.none == 0 && self.infinite == 0
    }
}

/// What was seen of a kernel's launches in one run.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The time of all threads in each of [`Phase::ALL`]; nothing where a kernel has no phases.
    pub phases: [Duration; 3],
    /// How long each thread was at work.
    pub busy: Vec<Duration>,
    /// The elements of each output, where they are floats that were looked at.
    pub outputs: Vec<Option<Range>>,
}

impl Observed {
    /// How much of the time of all threads was work while the busiest was at it: 1 where all had as much.
    pub fn balance(&self) -> Option<f64> {
        let most = self.busy.iter().max()?.as_secs_f64();
        let all: f64 = self.busy.iter().map(Duration::as_secs_f64).sum();
        (most > 0.0).then(|| all / (most * self.busy.len() as f64))
    }

    /// Counts a launch.
    pub(crate) fn add(&mut self, phases: Option<&Phases>, busy: Vec<Duration>) {
        if let Some(phases) = phases {
            for (sum, time) in self.phases.iter_mut().zip(phases.take()) {
                *sum += time;
            }
        }
        self.busy.resize(busy.len(), Duration::ZERO);
        for (sum, time) in self.busy.iter_mut().zip(busy) {
            *sum += time;
        }
    }

    /// Looks at an output.
    ///
    /// # Safety
    ///
    /// The pointer leads to so many elements of the type, which nobody writes meanwhile.
    pub(crate) unsafe fn look(
        &mut self,
        output: usize,
        pool: &Pool,
        dtype: DType,
        elements: usize,
        pointer: *const u8,
    ) {
        // SAFETY: the caller's promise.
        let found = unsafe { range(pool, dtype, elements, pointer) };
        self.outputs.resize(self.outputs.len().max(output + 1), None);
        let known = &mut self.outputs[output];
        match (known.as_mut(), found) {
            (Some(known), Some(found)) => known.join(found),
            _ => *known = found,
        }
    }
}

/// Elements looked at by one thread at a time: they are still in its cache, or in its neighbour's.
const GRAIN: usize = 1 << 14;

struct Elements(*const u8);

// SAFETY: they are only read.
unsafe impl Sync for Elements {}

/// # Safety
///
/// As for [`Observed::look`].
unsafe fn range(pool: &Pool, dtype: DType, elements: usize, pointer: *const u8) -> Option<Range> {
    if !matches!(dtype, DType::F32 | DType::BF16 | DType::F16) {
        return None;
    }
    let all = Mutex::new(Range::NOTHING);
    let from = &Elements(pointer);
    pool.run_ranges(elements, GRAIN, 2, &|part| {
        let from: &Elements = from;
        let first = from.0.wrapping_add(part.start * dtype.bytes());
        // SAFETY: the caller's promise.
        let found = unsafe {
            match dtype {
                DType::F32 => of_words(std::slice::from_raw_parts(first.cast(), part.len())),
                DType::BF16 => {
                    of_halves(std::slice::from_raw_parts(first.cast(), part.len()), from_bf16)
                }
                _ => of_halves(std::slice::from_raw_parts(first.cast(), part.len()), from_f16),
            }
        };
        all.lock().unwrap_or_else(PoisonError::into_inner).join(found);
    });
    Some(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Of f32: bits without the sign's order numbers of one sign, turned around they order the others.
fn of_words(values: &[u32]) -> Range {
    let turned = |bits: i32| bits ^ ((bits >> 31) & i32::MAX);
    let begin = [i32::MAX, i32::MIN];
    let found = dispatch!(Isa::usable(), extremes(values, begin, |bits| turned(bits as i32)));
    let widen = |bits: u32| f32::from_bits(bits);
    of(values, found.map(|bits| turned(bits) as u32), widen)
}

/// The same of numbers of 16 bits.
fn of_halves(values: &[u16], widen: impl Fn(u16) -> f32) -> Range {
    let turned = |bits: i16| bits ^ ((bits >> 15) & i16::MAX);
    let begin = [i16::MAX, i16::MIN];
    let found = dispatch!(Isa::usable(), extremes(values, begin, |bits| turned(bits as i16)));
    of(values, found.map(|bits| turned(bits) as u16), widen)
}

/// The range of numbers of which these are the first and the last in order: what is not finite is at the ends.
fn of<T: Copy>(values: &[T], ends: [T; 2], widen: impl Fn(T) -> f32) -> Range {
    let mut range = Range::NOTHING;
    if values.is_empty() {
        return range;
    }
    let [least, greatest] = ends.map(&widen);
    if least.is_finite() && greatest.is_finite() {
        return Range { least, greatest, ..range };
    }
    // Seldom: which of them, and the least and greatest without them.
    for value in values {
        match widen(*value) {
            value if value.is_nan() => range.none += 1,
            value if value.is_infinite() => range.infinite += 1,
            value => {
                range.least = range.least.min(value);
                range.greatest = range.greatest.max(value);
            }
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_what_is_no_number() {
        let pool = Pool::single();
        let mut values: Vec<f32> = (0..40_000).map(|at| (at as f32).sin() * 3.0).collect();
        let look = |values: &[f32]| {
            let mut observed = Observed::default();
            // SAFETY: as many elements as there are.
            unsafe { observed.look(0, &pool, DType::F32, values.len(), values.as_ptr().cast()) };
            observed.outputs[0].unwrap()
        };
        let found = look(&values);
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let greatest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(found, Range { least, greatest, none: 0, infinite: 0 });
        let narrow: Vec<u16> = values.iter().map(|x| (x.to_bits() >> 16) as u16).collect();
        let [first, last] = [least, greatest].map(|x| f32::from_bits(x.to_bits() & 0xffff_0000));
        let mut found = of_halves(&narrow, from_bf16);
        assert_eq!(found, Range { least: first, greatest: last, none: 0, infinite: 0 });
        found = of_halves(&[0xff80, 0x0001, 0x7fc0, 0xffc0], from_bf16);
        assert_eq!((found.none, found.infinite, found.least > 0.0), (2, 1, true));
        values[7] = f32::NAN;
        values[39_999] = f32::NEG_INFINITY;
        values[20_000] = f32::INFINITY;
        let found = look(&values);
        assert_eq!((found.none, found.infinite), (1, 2));
        assert!(found.least >= least && found.greatest <= greatest && !found.is_finite());
    }

    #[test]
    fn balance_is_the_share_of_the_busiest() {
        let of = |times: &[u64]| {
            let busy = times.iter().map(|time| Duration::from_millis(*time)).collect();
            Observed { busy, ..Observed::default() }.balance()
        };
        assert_eq!(of(&[10, 10]), Some(1.0));
        assert_eq!(of(&[10, 0]), Some(0.5));
        assert_eq!(of(&[0, 0]), None);
        assert_eq!(of(&[]), None);
    }
}
