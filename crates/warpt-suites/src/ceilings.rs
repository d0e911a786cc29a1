//! How fast this machine can be at most, in half a second: arithmetic from registers, and traffic to memory. What profiles of
//! programs are held against; the micro suite measures the same with more care.

use std::time::Duration;

use crate::SuiteError;
use crate::kernels::buffer::Buffer;
use crate::kernels::peak::{Dtype, PeakKernel, State, kernels};
use crate::kernels::stream::{Arrays, StreamKernel, Way, run};
use crate::kernels::workers::run_pinned;

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
    /// Bytes a second that a triad moves.
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
    Ok(Ceilings { f32_flops, bf16_flops, memory_bytes: triad(cpus)? })
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

/// Bytes a second that a triad over arrays of 32 MB moves on these CPUs at once: the best of a few.
pub fn triad(cpus: &[usize]) -> Result<f64, SuiteError> {
    let mut arrays = Vec::with_capacity(cpus.len());
    for _ in cpus {
        let mut each = Vec::with_capacity(3);
        for _ in 0..3 {
            each.push(Buffer::of::<f64>(ELEMENTS)?);
        }
        arrays.push(each);
    }
    let way = Way::available()[0];
    let mut fastest = f64::INFINITY;
    // The first time brings the memory in.
    for _ in 0..=REPEATS {
        let items: Vec<&mut Vec<Buffer>> = arrays.iter_mut().collect();
        let triad = |_: usize, buffers: &mut Vec<Buffer>| {
            let [target, first, second] = buffers.as_mut_slice() else { return 0.0 };
            let (first, second) = (first.as_slice::<f64>(), second.as_slice::<f64>());
            run(
                way,
                StreamKernel::Triad,
                Arrays { target: target.as_mut_slice(), first, second },
                3.0,
            )
        };
        let ran = run_pinned(cpus, items, |_| (), triad, |_| ())?;
        fastest = fastest.min(ran.elapsed_ns * 1e-9);
    }
    let bytes = StreamKernel::Triad.bytes_per_element() * ELEMENTS * cpus.len();
    Ok(bytes as f64 / fastest)
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
