//! The size of each cache as latency shows it: chases over growing working sets, and the largest set that is still
//! as quick as the smaller ones. Shared and virtual caches often give less than is reported; what is found is what one
//! core gets.

use warpt_bench::{BenchmarkMetric, Case, CaseError, Ceiling, Check, MetricSpec, Sampler};

use crate::kernels::chase::Chase;
use crate::micro::caches::Caches;
use crate::micro::pinned::{Absent, failed, timed};

/// Steps timed per set, at most.
const STEPS: u64 = 1 << 15;

/// One case per level.
pub(super) fn cases(caches: &Caches, cpu: usize, limit: u64) -> Vec<Box<dyn Case>> {
    let levels: Vec<(String, u64)> = caches.levels().collect();
    let mut cases: Vec<Box<dyn Case>> = Vec::new();
    for (index, (level, bytes)) in levels.iter().enumerate() {
        let before = index.checked_sub(1).map_or(0, |before| levels[before].1);
        let sets = working_sets(before, *bytes, index + 1 == levels.len());
        let together: u64 = sets.iter().sum();
        if together > limit {
            let reason = format!(
                "working sets of {} MiB together do not fit into the {} MiB that may be used",
                together >> 20,
                limit >> 20
            );
            cases.push(Box::new(Absent { label: format!("size of {level}"), reason }));
            continue;
        }
        cases.push(Box::new(CacheSize {
            level: level.clone(),
            reported: caches.reported.then_some(*bytes),
            sets: sets.into_iter().map(|bytes| bytes as usize).collect(),
            cpu,
            chases: Vec::new(),
        }));
    }
    cases
}

/// The sets around a level: from clearly inside it (and outside the level before) to clearly beyond it. The last
/// level is looked at in octaves, since its sets are large.
fn working_sets(before: u64, bytes: u64, last: bool) -> Vec<u64> {
    let (from, to) = ((bytes / 4).max(2 * before), if last { bytes * 2 } else { bytes * 4 });
    let from = if last { (4 * before).clamp(bytes / 64, bytes / 2) } else { from.min(bytes / 2) };
    let ratio: f64 = if last { 2.0 } else { 2f64.powf(0.25) };
    let mut sets = Vec::new();
    // Counted down from the end, so that the reported size itself is among them.
    let mut size = to as f64;
    while size >= from as f64 * 0.999 && sets.len() < 64 {
        sets.push((size / 64.0).round() as u64 * 64);
        size /= ratio;
    }
    sets.reverse();
    sets
}

/// The largest set before the step: latencies rise from a floor to a top, and the step is where they pass the
/// geometric middle. `None` when there is no step to speak of.
fn step(latencies: &[(usize, f64)]) -> Option<usize> {
    let (first, last) = (latencies.first()?.1, latencies.last()?.1);
    if last < 1.25 * first {
        return None;
    }
    let middle = (first * last).sqrt();
    latencies.iter().take_while(|(_, ns)| *ns <= middle).last().map(|(bytes, _)| *bytes)
}

struct CacheSize {
    level: String,
    reported: Option<u64>,
    sets: Vec<usize>,
    cpu: usize,
    /// A chain per set, and the steps done on it.
    chases: Vec<(Chase, u64)>,
}

/// Brings a set into the caches as far as it fits, and returns the nanoseconds of one load.
fn read((chase, steps): &mut (Chase, u64)) -> f64 {
    std::hint::black_box(chase.touch());
    let turns = (chase.lines() as u64).clamp(512, STEPS) / 16;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = std::time::Instant::now();
        *steps += chase.run(turns);
        best = best.min(start.elapsed().as_nanos() as f64 / (turns * 16) as f64);
    }
    best
}

impl Case for CacheSize {
    fn label(&self) -> String {
        format!("size of {}", self.level)
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        vec![MetricSpec::observed("detected_cache_size", "KiB", true).tag("level", &self.level)]
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        for bytes in &self.sets {
            let chase = Chase::new(*bytes, *bytes as u64).map_err(|error| failed(&error))?;
            self.chases.push((chase, 0));
        }
        Ok(())
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let run =
            timed(&[self.cpu], vec![&mut self.chases], |_, chases: &mut Vec<(Chase, u64)>| {
                chases.iter_mut().map(read).collect::<Vec<f64>>()
            })?;
        let readings = run.results.into_iter().flatten();
        let latencies: Vec<(usize, f64)> = self.sets.iter().copied().zip(readings).collect();
        let found = step(&latencies).ok_or_else(|| {
            CaseError::Skipped(format!(
                "no step in latency between {} and {} KiB: {:.1} and {:.1} ns; what is reported as {} is not what one \
                 core of this machine gets",
                latencies.first().map_or(0, |(bytes, _)| bytes >> 10),
                latencies.last().map_or(0, |(bytes, _)| bytes >> 10),
                latencies.first().map_or(0.0, |(_, ns)| *ns),
                latencies.last().map_or(0.0, |(_, ns)| *ns),
                self.level
            ))
        })?;
        sampler.elapsed(run.elapsed_ns, 1);
        sampler.observe("detected_cache_size", found as f64 / 1024.0);
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        let fault = self.chases.iter().find_map(|(chase, steps)| {
            let (found, expected) = (chase.line(), chase.expected_line(*steps));
            let strayed = || {
                format!(
                    "{steps} steps over {} lines ended on line {found}, not {expected}",
                    chase.lines()
                )
            };
            chase.check().err().or_else(|| (found != expected).then(strayed))
        });
        let detail = fault.clone().unwrap_or_else(|| {
            format!(
                "{} chains, each one cycle through its set; all chases ended where they must",
                self.chases.len()
            )
        });
        vec![Check::new(
            format!("{}: chains", self.label()),
            fault.is_none() && !self.chases.is_empty(),
            detail,
        )]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        if let (Some(reported), [metric, ..]) = (self.reported, metrics) {
            let source = "the size the kernel reports for one instance; other cores and guests may use part of it";
            metric.ceiling = Some(Ceiling::above(metric, reported as f64 / 1024.0, source));
        }
    }

    fn minimum_samples(&self) -> usize {
        3
    }

    fn sample_ns(&self) -> u64 {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_reach_from_inside_to_beyond_and_include_the_reported_size() {
        let first = working_sets(0, 48 << 10, false);
        assert!(
            first[0] <= 13 << 10
                && *first.last().unwrap() == 192 << 10
                && first.contains(&(48 << 10))
        );
        let last = working_sets(2 << 20, 300 << 20, true);
        assert_eq!(*last.last().unwrap(), 600 << 20);
        assert!(last.contains(&(300 << 20)) && last[0] >= 8 << 20 && last.len() < 8, "{last:?}");
        assert!(working_sets(1 << 20, (1 << 20) + 64, true).len() < 64);
    }

    #[test]
    fn the_step_is_the_largest_quick_set() {
        let curve = [(1, 2.0), (2, 2.1), (4, 2.3), (8, 7.0), (16, 9.0)];
        assert_eq!(step(&curve), Some(4));
        assert_eq!(step(&[(1, 5.0), (2, 5.1)]), None);
        assert_eq!(step(&[]), None);
    }

    #[test]
    fn a_reading_moves_along_the_chain() {
        let mut set = (Chase::new(64 << 10, 1).unwrap(), 0);
        assert!(read(&mut set) > 0.0);
        assert!(set.1 > 0 && set.0.line() == set.0.expected_line(set.1));
    }
}
