//! Requests through pread and pwrite: one thread per request in flight, for kernels and sandboxes without
//! io_uring. Depth 1 uses the calling thread.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::Instant;

use super::access::{Batch, Done};
use super::buffers::Buffers;
use super::pattern::{Ledger, Noise, stamped};

/// The buffers of the threads.
#[derive(Debug)]
pub(super) struct Threads {
    buffers: Buffers,
    depth: usize,
}

/// What every thread does the same.
struct Work<'a> {
    file: &'a File,
    write: bool,
    generation: u8,
    noise: &'a Noise,
    ledger: &'a Ledger,
}

/// What one thread did.
#[derive(Default)]
struct Share {
    latencies: Vec<u64>,
    wrong: u64,
}

impl Threads {
    pub(super) fn new(depth: usize, block: usize) -> Self {
        Self { buffers: Buffers::new(depth, block), depth }
    }

    /// Carries a batch out and waits for all of it.
    pub(super) fn run(&mut self, batch: &mut Batch<'_>) -> io::Result<Done> {
        let Batch { file, write, generation, noise, ledger, .. } = *batch;
        let work = Work { file, write, generation, noise, ledger };
        let offsets = Mutex::new((batch.requests, &mut *batch.cursor));
        let next = || {
            let mut guard = offsets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (left, cursor) = &mut *guard;
            *left = left.checked_sub(1)?;
            Some(cursor.advance())
        };
        let start = Instant::now();
        let shares: Vec<io::Result<Share>> = if self.depth == 1 {
            vec![work.run(self.buffers.get(0), &next)]
        } else {
            std::thread::scope(|scope| {
                let (work, next) = (&work, &next);
                let threads: Vec<_> = self
                    .buffers
                    .split()
                    .take(self.depth)
                    .map(|buffer| scope.spawn(move || work.run(buffer, next)))
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| {
                        thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
                    })
                    .collect()
            })
        };
        let mut done = Done { nanoseconds: start.elapsed().as_nanos() as u64, wrong: 0 };
        for share in shares {
            let share = share?;
            batch.latencies.extend(share.latencies);
            done.wrong += share.wrong;
        }
        Ok(done)
    }
}

impl Work<'_> {
    fn run(
        &self,
        buffer: &mut [u8],
        next: &(impl Fn() -> Option<u64> + ?Sized),
    ) -> io::Result<Share> {
        let mut share = Share::default();
        let mut held = None;
        while let Some(offset) = next() {
            if self.write {
                self.noise.fill(buffer, offset, self.generation, &mut held);
            }
            let start = Instant::now();
            if self.write {
                self.file.write_all_at(buffer, offset)?;
            } else {
                self.file.read_exact_at(buffer, offset)?;
            }
            share.latencies.push(start.elapsed().as_nanos() as u64);
            if self.write {
                self.ledger.note(offset, buffer.len(), self.generation);
            } else {
                share.wrong += u64::from(!stamped(buffer, offset, self.ledger));
            }
        }
        Ok(share)
    }
}
