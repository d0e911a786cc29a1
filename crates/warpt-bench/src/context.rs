//! What a benchmark may know about the run it is part of.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use warpt_machine::inventory::Machine;

use crate::params::Params;

/// Asks a run to stop at the next sample.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// The flag behind it, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Asks to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether stopping was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What preparation sees.
#[derive(Debug, Clone)]
pub struct Context {
    /// The parameters of this benchmark, complete.
    pub params: Params,
    /// The CPUs this process may use, by number, in order.
    pub cpus: Vec<usize>,
    /// The machine.
    pub machine: Arc<Machine>,
    /// Where scratch files go.
    pub working_directory: PathBuf,
    /// The memory a benchmark may allocate.
    pub memory_limit_bytes: u64,
    /// How long the whole benchmark may sample.
    pub duration_seconds: f64,
    /// Set when the user asked to stop.
    pub cancel: Cancel,
}

impl Context {
    /// The thread counts a benchmark is measured with: one, and all usable CPUs when there are several.
    pub fn thread_counts(&self) -> Vec<usize> {
        match self.cpus.len() {
            0 | 1 => vec![1],
            all => vec![1, all],
        }
    }
}
