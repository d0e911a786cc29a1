//! Requests through pread and pwrite: one thread per request in flight, for kernels and sandboxes without
//! io_uring. Depth 1 uses the calling thread.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::access::{Batch, Cursor, Done, Pace};
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
    /// What the threads take turns with.
    shared: Mutex<Shared<'a>>,
}

struct Shared<'a> {
    pace: Pace,
    cursor: &'a mut Cursor,
    latencies: &'a mut Vec<u64>,
    wrong: u64,
}

impl Threads {
    pub(super) fn new(depth: usize, block: usize) -> Self {
        Self { buffers: Buffers::new(depth, block), depth }
    }

    /// Carries a batch out and waits for all of it.
    pub(super) fn run(&mut self, batch: &mut Batch<'_>) -> io::Result<Done> {
        let Batch { file, write, generation, noise, ledger, goal, .. } = *batch;
        let pace = Pace::start(goal, self.depth);
        let shared =
            Shared { pace, cursor: &mut *batch.cursor, latencies: &mut *batch.latencies, wrong: 0 };
        let work = Work { file, write, generation, noise, ledger, shared: Mutex::new(shared) };
        if self.depth == 1 {
            work.run(self.buffers.get(0))?;
        } else {
            std::thread::scope(|scope| {
                let work = &work;
                let threads: Vec<_> = self
                    .buffers
                    .split()
                    .take(self.depth)
                    .map(|buffer| scope.spawn(move || work.run(buffer)))
                    .collect();
                // The scope joins all of them; the first failure is reported.
                threads.into_iter().try_for_each(|thread| {
                    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
                })
            })?;
        }
        let shared = work.lock();
        Ok(shared.pace.done(shared.wrong))
    }
}

impl<'a> Work<'a> {
    fn lock(&self) -> MutexGuard<'_, Shared<'a>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<u64> {
        let mut shared = self.lock();
        shared.pace.issue().then(|| shared.cursor.advance())
    }

    /// Takes requests until there are no more.
    fn run(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut held = None;
        while let Some(offset) = self.next() {
            if self.write {
                self.noise.fill(buffer, offset, self.generation, &mut held);
            }
            let start = Instant::now();
            let outcome = if self.write {
                self.file.write_all_at(buffer, offset)
            } else {
                self.file.read_exact_at(buffer, offset)
            };
            let now = Instant::now();
            let right = self.write || stamped(buffer, offset, self.ledger);
            if self.write && outcome.is_ok() {
                self.ledger.note(offset, buffer.len(), self.generation);
            }
            let mut shared = self.lock();
            if let Err(error) = outcome {
                shared.pace.close();
                return Err(error);
            }
            shared.wrong += u64::from(!right);
            if shared.pace.complete(now) {
                shared.latencies.push((now - start).as_nanos() as u64);
            }
        }
        Ok(())
    }
}
