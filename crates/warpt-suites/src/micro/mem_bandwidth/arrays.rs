//! The three arrays of a set of CPUs: divided among the workers once, filled (and so placed) by the worker that uses
//! each part, streamed through, and checked element by element.

use warpt_bench::CaseError;

use crate::kernels::buffer::{Buffer, HUGE_PAGE_BYTES};
use crate::kernels::stream::{Arrays, StreamKernel, Way, run};
use crate::kernels::workers::run_pinned;
use crate::micro::pinned::failed;

/// The factor of scale and triad, and the value of a write.
const SCALAR: f64 = 3.0;

/// What each array holds before a kernel: whole numbers that differ from place to place and from array to array.
fn pattern(array: usize, index: usize) -> f64 {
    const PERIODS: [usize; 3] = [1021, 509, 257];
    ((index + array) % PERIODS[array]) as f64
}

/// Which arrays a kernel uses, as STREAM names them: a, b and c are 0, 1 and 2.
struct Roles {
    target: usize,
    first: usize,
    second: usize,
}

fn roles(kernel: StreamKernel) -> Roles {
    let (target, first, second) = match kernel {
        StreamKernel::Copy => (2, 0, 1),
        StreamKernel::Scale => (1, 2, 0),
        StreamKernel::Add => (2, 0, 1),
        StreamKernel::Triad => (0, 1, 2),
        StreamKernel::Read => (2, 0, 1),
        StreamKernel::Write => (0, 1, 2),
    };
    Roles { target, first, second }
}

/// A worker's share of the three arrays: where it starts, and the target and sources of a kernel.
struct Part<'set> {
    start: usize,
    target: &'set mut [f64],
    first: &'set [f64],
    second: &'set [f64],
}

/// The arrays of one set of CPUs.
pub(super) struct ArraySet {
    cpus: Vec<usize>,
    arrays: [Buffer; 3],
    share: usize,
}

impl ArraySet {
    /// Three arrays of so many doubles; no page is touched yet.
    pub(super) fn new(elements: usize, cpus: Vec<usize>) -> Result<Self, CaseError> {
        let buffer = || Buffer::of::<f64>(elements).map_err(|error| failed(&error));
        // Shares end on huge pages where there is more than one page each, so that no page serves two workers.
        let share = elements.div_ceil(cpus.len());
        let page = HUGE_PAGE_BYTES / size_of::<f64>();
        let grain = if share >= 4 * page { page } else { 8 };
        Ok(Self {
            share: share.next_multiple_of(grain).max(1),
            cpus,
            arrays: [buffer()?, buffer()?, buffer()?],
        })
    }

    /// Whether the kernel took the advice to use huge pages, or why not.
    pub(super) fn huge_pages(&self) -> Result<(), &str> {
        self.arrays[0].huge_pages()
    }

    /// The parts of each worker in the roles of a kernel.
    fn parts(&mut self, kernel: StreamKernel) -> Vec<Part<'_>> {
        let Roles { target, first, second } = roles(kernel);
        let [a, b, c] = &mut self.arrays;
        let mut arrays = [Some(a), Some(b), Some(c)];
        let mut take =
            |index: usize| arrays[index].take().expect("roles name three different arrays");
        let (target, first, second) = (take(target), take(first), take(second));
        let share = self.share;
        let mut targets = target.as_mut_slice::<f64>().chunks_mut(share);
        let mut firsts = first.as_slice::<f64>().chunks(share);
        let mut seconds = second.as_slice::<f64>().chunks(share);
        (0..self.cpus.len())
            .map(|worker| Part {
                start: worker * share,
                target: targets.next().unwrap_or_default(),
                first: firsts.next().unwrap_or_default(),
                second: seconds.next().unwrap_or_default(),
            })
            .collect()
    }

    /// Fills every array with its pattern, each part by its own worker, and spoils the kernel's target.
    pub(super) fn fill(&mut self, kernel: StreamKernel) -> Result<(), CaseError> {
        let spoiled = roles(kernel).target;
        for (array, role) in
            [(0, StreamKernel::Triad), (1, StreamKernel::Scale), (2, StreamKernel::Copy)]
        {
            debug_assert_eq!(roles(role).target, array);
            let cpus = self.cpus.clone();
            let parts = self.parts(role);
            run_pinned(
                &cpus,
                parts,
                |_| (),
                |_, part| {
                    for (offset, element) in part.target.iter_mut().enumerate() {
                        *element = if array == spoiled {
                            -1.0
                        } else {
                            pattern(array, part.start + offset)
                        };
                    }
                },
                |_| (),
            )
            .map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// Streams through the arrays so many times; the time and each worker's sum of the last time.
    pub(super) fn run(
        &mut self,
        way: Way,
        kernel: StreamKernel,
        times: u64,
    ) -> Result<(f64, Vec<f64>), CaseError> {
        let cpus = self.cpus.clone();
        let parts = self.parts(kernel);
        let run = run_pinned(
            &cpus,
            parts,
            |_| (),
            |_, part| {
                let Part { target, first, second, .. } = part;
                (0..times).fold(0.0, |_, _| {
                    run(way, kernel, Arrays { target: &mut *target, first, second }, SCALAR)
                })
            },
            |_| (),
        )
        .map_err(|error| failed(&error))?;
        Ok((run.elapsed_ns, run.results.into_iter().map(|((), sum, ())| sum).collect()))
    }

    /// Whether the target holds what the kernel is defined to compute, and a read's sums are exact; what differs
    /// first if not. Sources must still hold their patterns.
    pub(super) fn check(&mut self, kernel: StreamKernel, sums: &[f64]) -> Result<(), String> {
        let Roles { first: first_array, second: second_array, .. } = roles(kernel);
        let cpus = self.cpus.clone();
        let parts = self.parts(kernel);
        let run = run_pinned(
            &cpus,
            parts,
            |_| (),
            |_, part| {
                let mut sum = 0.0;
                for (offset, found) in part.target.iter().enumerate() {
                    let index = part.start + offset;
                    let (first, second) =
                        (pattern(first_array, index), pattern(second_array, index));
                    sum += first;
                    let expected = match kernel {
                        StreamKernel::Read => -1.0,
                        _ => kernel.element(first, second, SCALAR),
                    };
                    if *found != expected {
                        return Err(format!("element {index}: expected {expected}, found {found}"));
                    }
                }
                Ok(sum)
            },
            |_| (),
        )
        .map_err(|error| error.to_string())?;
        for (worker, ((), expected, ())) in run.results.into_iter().enumerate() {
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
        set.fill(StreamKernel::Triad).unwrap();
        assert!(set.check(StreamKernel::Triad, &[]).is_err());
        let (_, sums) = set.run(Way::Portable, StreamKernel::Triad, 2).unwrap();
        assert_eq!(set.check(StreamKernel::Triad, &sums), Ok(()));
        set.arrays[0].as_mut_slice::<f64>()[999] += 1.0;
        assert!(set.check(StreamKernel::Triad, &sums).unwrap_err().contains("element 999"));
        set.fill(StreamKernel::Read).unwrap();
        let (_, sums) = set.run(Way::Portable, StreamKernel::Read, 1).unwrap();
        assert_eq!(set.check(StreamKernel::Read, &sums), Ok(()));
        assert!(set.check(StreamKernel::Read, &[sums[0] + 1.0]).unwrap_err().contains("sum"));
    }

    #[test]
    fn more_workers_than_elements_still_cover_everything() {
        let cpu = warpt_machine::topology::usable_cpus()[0];
        for elements in [1, 3, 9, 100] {
            let mut set = ArraySet::new(elements, vec![cpu; 5]).unwrap();
            set.fill(StreamKernel::Add).unwrap();
            let (_, sums) = set.run(Way::available()[0], StreamKernel::Add, 1).unwrap();
            assert_eq!(set.check(StreamKernel::Add, &sums), Ok(()), "{elements}");
        }
    }
}
