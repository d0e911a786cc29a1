//! Room that the kernels of a plan use one after the other while they run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::EngineError;
use crate::plan::Buffer;

/// The room: as large as the largest kernel asked for, and not there before the first launch.
#[derive(Debug)]
pub(crate) struct Scratch {
    bytes: AtomicUsize,
    room: Mutex<Buffer>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { bytes: AtomicUsize::new(0), room: Mutex::new(Buffer::new(0)) }
    }

    /// Says how much a launch will need.
    pub(crate) fn reserve(&self, bytes: usize) {
        self.bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    /// How much it is, or will be.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The room, for one launch.
    pub(crate) fn take(&self) -> MutexGuard<'_, Buffer> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if room.bytes() < self.bytes() {
            *room = Buffer::new(self.bytes());
        }
        room
    }
}

/// Places for threads that work at the same time: each is one task's alone as long as that runs.
pub(crate) struct Rooms {
    free: Mutex<Vec<usize>>,
    crowded: AtomicBool,
}

impl Rooms {
    pub(crate) fn new(count: usize) -> Self {
        Self { free: Mutex::new((0..count.max(1)).collect()), crowded: AtomicBool::new(false) }
    }

    /// Does a task's work in a place of its own, if there is one left.
    pub(crate) fn with(&self, work: impl FnOnce(usize)) {
        let place = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(place) = place else {
            self.crowded.store(true, Ordering::Relaxed);
            return;
        };
        work(place);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(place);
    }

    /// Whether there was a place for every task.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        if self.crowded.load(Ordering::Relaxed) {
            return Err(EngineError::Threads("more threads than a kernel was made for".into()));
        }
        Ok(())
    }
}
