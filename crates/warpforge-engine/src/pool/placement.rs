//! Which processor each thread of a pool stays on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::EngineError;

/// Where threads run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Wherever the system puts them.
    Anywhere,
    /// Thread `i` on the `i`-th of these, beginning again when there are more threads.
    Pinned(Vec<usize>),
}

impl Placement {
    /// One thread on each processor this process may use, where there are at least as many as threads.
    pub fn spread(threads: usize) -> Self {
        let cpus = allowed_cpus();
        if cpus.len() >= threads { Self::Pinned(cpus) } else { Self::Anywhere }
    }

    /// Puts the calling thread where the thread of this number belongs.
    pub(super) fn apply(&self, index: usize) -> Result<(), EngineError> {
        let Self::Pinned(cpus) = self else { return Ok(()) };
        let Some(cpu) = cpus.get(index % cpus.len().max(1)) else { return Ok(()) };
        let mut set = CpuSet::new();
        set.set(*cpu);
        sched_setaffinity(None, &set).map_err(|error| {
            EngineError::Threads(format!("cannot stay on processor {cpu}: {error}"))
        })
    }
}

/// The processors this thread may use; none where that cannot be read.
pub fn allowed_cpus() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect(),
        Err(_) => Vec::new(),
    }
}
