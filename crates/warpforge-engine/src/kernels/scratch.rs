//! Room that the kernels of a plan use one after the other while they run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
