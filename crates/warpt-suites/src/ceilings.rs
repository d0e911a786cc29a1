//! How fast this machine can be at most, in half a second: arithmetic from registers, and traffic to memory. What profiles of
//! programs are held against; the micro suite measures the same with more care.

use std::time::Duration;

use crate::SuiteError;
use crate::kernels::buffer::Buffer;
use crate::kernels::peak::{Dtype, PeakKernel, State, kernels};
use crate::kernels::stream::{Arrays, StreamKernel, Way, run};
use crate::kernels::workers::run_pinned;

/// The number of the way in which it is measured: what was measured in another way does not compare. Since 2 the triad reads
/// memory that was written.
pub const METHOD: u32 = 2;

/// How long each measurement takes, about.
const EACH: Duration = Duration::from_millis(30);
/// How often each is repeated; the best counts.
const REPEATS: usize = 3;
/// Doubles of each of the three arrays of a worker.
const ELEMENTS: usize = 4 << 20;

/// What a set of CPUs can do at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceilings {
    /// Multiplications and additions of f32 a second.
    pub f32_flops: f64,
    /// Of bf16, accumulated in f32.
    pub bf16_flops: f64,
    /// Bytes a second that a triad over arrays of 32 MB moves.
    pub memory_bytes: f64,
}

impl Ceilings {
    /// Of f32, each in three parts of bf16, of whose nine products six are computed.
    pub fn f32_in_parts(&self) -> f64 {
        const PRODUCTS: f64 = 6.0;
        self.f32_flops.max(self.bf16_flops / PRODUCTS)
    }
}

/// Measures on all these CPUs at once.
pub fn measure(cpus: &[usize]) -> Result<Ceilings, SuiteError> {
    let (present, _) = kernels();
    let best = |dtype: Dtype| -> Result<f64, SuiteError> {
        let mut best = 0.0_f64;
        for kernel in present.iter().filter(|kernel| kernel.dtype == dtype) {
            best = best.max(arithmetic(*kernel, cpus)?);
        }
        Ok(best)
    };
    let f32_flops = best(Dtype::F32)?;
    // Without instructions for bf16 the numbers are widened.
    let bf16_flops = best(Dtype::Bf16)?.max(f32_flops);
    Ok(Ceilings { f32_flops, bf16_flops, memory_bytes: Triad::new(cpus, ELEMENTS)?.measure()? })
}

fn arithmetic(kernel: PeakKernel, cpus: &[usize]) -> Result<f64, SuiteError> {
    let mut states = Vec::with_capacity(cpus.len());
    for _ in cpus {
        states.push(State::new(kernel)?);
    }
    let mut time = |blocks: u64| -> Result<f64, SuiteError> {
        let items: Vec<&mut State> = states.iter_mut().collect();
        let ran = run_pinned(cpus, items, |_| (), |_, state| state.run(blocks), |_| ())?;
        Ok(ran.elapsed_ns * 1e-9)
    };
    let once = time(4)?.max(1e-7) / 4.0;
    let blocks = (EACH.as_secs_f64() / REPEATS as f64 / once).ceil().max(1.0) as u64;
    let mut fastest = f64::INFINITY;
    for _ in 0..REPEATS {
        fastest = fastest.min(time(blocks)?);
    }
    Ok(kernel.block_operations() * blocks as f64 * cpus.len() as f64 / fastest)
}

/// A triad, `a = b + 3 c`, of doubles on some CPUs at once: each has arrays of its own.
#[derive(Debug)]
pub struct Triad<'a> {
    cpus: &'a [usize],
    arrays: Vec<[Buffer; 3]>,
    elements: usize,
}

impl<'a> Triad<'a> {
    /// With three arrays of so many doubles for each CPU, all of them written once: memory that is only read is all one page
    /// of zeros, in the nearest cache.
    pub fn new(cpus: &'a [usize], elements: usize) -> Result<Self, SuiteError> {
        let mut arrays = Vec::with_capacity(cpus.len());
        for _ in cpus {
            let array = || Buffer::of::<f64>(elements);
            arrays.push([array()?, array()?, array()?]);
        }
        let items: Vec<&mut [Buffer; 3]> = arrays.iter_mut().collect();
        let fill = |_: usize, buffers: &mut [Buffer; 3]| {
            for (buffer, value) in buffers.iter_mut().zip([0.0, 1.0, 2.0]) {
                buffer.as_mut_slice::<f64>().fill(value);
            }
        };
        run_pinned(cpus, items, |_| (), fill, |_| ())?;
        Ok(Self { cpus, arrays, elements })
    }

    /// Bytes a second: the best of a few runs.
    pub fn measure(&mut self) -> Result<f64, SuiteError> {
        let way = Way::available()[0];
        let mut fastest = f64::INFINITY;
        for _ in 0..REPEATS {
            let items: Vec<&mut [Buffer; 3]> = self.arrays.iter_mut().collect();
            let triad = |_: usize, [target, first, second]: &mut [Buffer; 3]| {
                let (first, second) = (first.as_slice::<f64>(), second.as_slice::<f64>());
                let arrays = Arrays { target: target.as_mut_slice(), first, second };
                run(way, StreamKernel::Triad, arrays, 3.0)
            };
            let ran = run_pinned(self.cpus, items, |_| (), triad, |_| ())?;
            fastest = fastest.min(ran.elapsed_ns * 1e-9);
        }
        let bytes = StreamKernel::Triad.bytes_per_element() * self.elements * self.cpus.len();
        Ok(bytes as f64 / fastest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_are_numbers_a_machine_can_have() {
        let set = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| set.is_set(*cpu)).unwrap();
        let found = measure(&[first]).unwrap();
        assert!(found.f32_flops > 1e8 && found.bf16_flops >= found.f32_flops, "{found:?}");
        assert!(found.memory_bytes > 1e8 && found.memory_bytes < 1e13, "{found:?}");
    }
}
