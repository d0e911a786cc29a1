//! The three arrays of a set of CPUs: divided among the workers once, filled (and so placed) by the worker that uses
//! each part, streamed through, and checked element by element.

use warpt_bench::CaseError;

use crate::kernels::buffer::{Buffer, HUGE_PAGE_BYTES};
use crate::kernels::stream::{Arrays, StreamKernel, Way, run};
use crate::kernels::workers::run_pinned;
use crate::micro::pinned::failed;

/// The factor of scale and triad, and the value of a write.
const SCALAR: f64 = 3.0;

/// Elements compared at once before looking where the first difference is.
const CHUNK: usize = 4096;
/// What the target holds before a kernel runs: nothing any kernel writes.
const SPOILED: f64 = -1.0;

/// What the sources hold: whole numbers that differ from place to place and between the two.
fn pattern(second: bool, index: usize) -> f64 {
    let value = if second { (index + 7) & 511 } else { index & 1023 };
    f64::from(value as u32)
}

/// A worker's share of the arrays, and where it starts.
struct Part<'set> {
    start: usize,
    target: &'set mut [f64],
    first: &'set mut [f64],
    second: &'set mut [f64],
}

/// The arrays of one set of CPUs: a target and two sources that no kernel changes.
pub(super) struct ArraySet {
    cpus: Vec<usize>,
    arrays: [Buffer; 3],
    share: usize,
}

impl ArraySet {
    /// Three arrays of so many doubles, filled by the workers that use them: the sources with their patterns.
    pub(super) fn new(elements: usize, cpus: Vec<usize>) -> Result<Self, CaseError> {
        let buffer = || Buffer::of::<f64>(elements).map_err(|error| failed(&error));
        // Shares end on huge pages where there is more than one page each, so that no page serves two workers.
        let share = elements.div_ceil(cpus.len());
        let page = HUGE_PAGE_BYTES / size_of::<f64>();
        let grain = if share >= 4 * page { page } else { 8 };
        let share = share.next_multiple_of(grain).max(1);
        let mut set = Self { cpus, arrays: [buffer()?, buffer()?, buffer()?], share };
        set.each(|part| {
            for (offset, element) in part.first.iter_mut().enumerate() {
                *element = pattern(false, part.start + offset);
            }
            for (offset, element) in part.second.iter_mut().enumerate() {
                *element = pattern(true, part.start + offset);
            }
        })?;
        set.spoil()?;
        Ok(set)
    }

    /// Whether the kernel took the advice to use huge pages, or why not.
    pub(super) fn huge_pages(&self) -> Result<(), &str> {
        self.arrays[0].huge_pages()
    }

    /// Runs `body` on every worker with its part; the time of all, and what each gave.
    fn each<R: Send>(
        &mut self,
        body: impl Fn(Part<'_>) -> R + Sync,
    ) -> Result<(f64, Vec<R>), CaseError> {
        let share = self.share;
        let [target, first, second] = &mut self.arrays;
        let mut targets = target.as_mut_slice::<f64>().chunks_mut(share);
        let mut firsts = first.as_mut_slice::<f64>().chunks_mut(share);
        let mut seconds = second.as_mut_slice::<f64>().chunks_mut(share);
        let parts = (0..self.cpus.len())
            .map(|worker| Part {
                start: worker * share,
                target: targets.next().unwrap_or_default(),
                first: firsts.next().unwrap_or_default(),
                second: seconds.next().unwrap_or_default(),
            })
            .collect();
        let run = run_pinned(&self.cpus, parts, |_| (), |_, part| body(part), |_| ())
            .map_err(|error| failed(&error))?;
        Ok((run.elapsed_ns, run.results.into_iter().map(|((), result, ())| result).collect()))
    }

    /// Overwrites the target, so that only the next kernel can make it right.
    pub(super) fn spoil(&mut self) -> Result<(), CaseError> {
        self.each(|part| part.target.fill(SPOILED)).map(|_| ())
    }

    /// Streams through the arrays so many times; the time and each worker's sum of the last time.
    pub(super) fn run(
        &mut self,
        way: Way,
        kernel: StreamKernel,
        times: u64,
    ) -> Result<(f64, Vec<f64>), CaseError> {
        self.each(|part| {
            let Part { target, first, second, .. } = part;
            (0..times).fold(0.0, |_, _| {
                run(way, kernel, Arrays { target: &mut *target, first, second }, SCALAR)
            })
        })
    }

    /// Whether the target holds what the kernel is defined to compute from the patterns, and a read's sums are
    /// exact; what differs first if not.
    pub(super) fn check(&mut self, kernel: StreamKernel, sums: &[f64]) -> Result<(), String> {
        let expected = |index: usize| match kernel {
            StreamKernel::Read => SPOILED,
            _ => kernel.element(pattern(false, index), pattern(true, index), SCALAR),
        };
        let (_, verdicts) = self
            .each(|part| {
                let mut sum = 0.0;
                for (chunk, found) in part.target.chunks(CHUNK).enumerate() {
                    let start = part.start + chunk * CHUNK;
                    let mut same = true;
                    for (offset, found) in found.iter().enumerate() {
                        same &= *found == expected(start + offset);
                        sum += pattern(false, start + offset);
                    }
                    if !same {
                        let differs = |(offset, found): (usize, &f64)| {
                            let (index, found) = (start + offset, *found);
                            (found != expected(index)).then(|| {
                                format!(
                                    "element {index}: expected {}, found {found}",
                                    expected(index)
                                )
                            })
                        };
                        return Err(found.iter().enumerate().find_map(differs).unwrap_or_default());
                    }
                }
                Ok(sum)
            })
            .map_err(|error| error.to_string())?;
        for (worker, expected) in verdicts.into_iter().enumerate() {
            let expected = expected?;
            let found = sums.get(worker).copied().unwrap_or(f64::NAN);
            if kernel == StreamKernel::Read && found != expected {
                return Err(format!("sum of worker {worker}: expected {expected}, found {found}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_element_and_a_wrong_sum_are_noticed() {
        let cpus = vec![warpt_machine::topology::usable_cpus()[0]];
        let mut set = ArraySet::new(1000, cpus).unwrap();
        assert!(set.check(StreamKernel::Triad, &[]).is_err());
        let (_, sums) = set.run(Way::Portable, StreamKernel::Triad, 2).unwrap();
        assert_eq!(set.check(StreamKernel::Triad, &sums), Ok(()));
        set.arrays[0].as_mut_slice::<f64>()[999] += 1.0;
        assert!(set.check(StreamKernel::Triad, &sums).unwrap_err().contains("element 999"));
        set.spoil().unwrap();
        let (_, sums) = set.run(Way::Portable, StreamKernel::Read, 1).unwrap();
        assert_eq!(set.check(StreamKernel::Read, &sums), Ok(()));
        assert!(set.check(StreamKernel::Read, &[sums[0] + 1.0]).unwrap_err().contains("sum"));
    }

    #[test]
    fn more_workers_than_elements_still_cover_everything() {
        let cpu = warpt_machine::topology::usable_cpus()[0];
        for elements in [1, 3, 9, 100] {
            let mut set = ArraySet::new(elements, vec![cpu; 5]).unwrap();
            let (_, sums) = set.run(Way::available()[0], StreamKernel::Add, 1).unwrap();
            assert_eq!(set.check(StreamKernel::Add, &sums), Ok(()), "{elements}");
        }
    }
}
