//! Requests through io_uring: one thread, one ring, as many requests in flight as asked for, no registered files
//! or buffers (like fio's `--ioengine=io_uring`).
//!
//! Invariant: the kernel writes into the buffers only while `in_flight` is above zero, and nothing here touches
//! the buffer of a request in flight; buffers of requests that never came back are leaked, not freed.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::time::Instant;

use io_uring::{IoUring, opcode, squeue, types};

use super::access::{Batch, Done, Pace};
use super::buffers::Buffers;
use super::pattern::stamped;

/// A ring and the buffers of its requests.
pub(super) struct Ring {
    ring: IoUring,
    buffers: Buffers,
    slots: Vec<Slot>,
    free: Vec<usize>,
    in_flight: usize,
    block: usize,
}

#[derive(Clone)]
struct Slot {
    offset: u64,
    submitted: Instant,
    /// The place whose noise the buffer holds.
    held: Option<usize>,
}

impl Ring {
    /// A ring for `depth` requests of `block` bytes; fails where the kernel has no io_uring or forbids it.
    pub(super) fn new(depth: usize, block: usize) -> io::Result<Self> {
        let ring = quiet_ring(depth as u32).or_else(|_| IoUring::new(depth as u32))?;
        let slot = Slot { offset: 0, submitted: Instant::now(), held: None };
        Ok(Self {
            ring,
            buffers: Buffers::new(depth, block),
            slots: vec![slot; depth],
            free: (0..depth).collect(),
            in_flight: 0,
            block,
        })
    }

    /// Carries a batch out and waits for all of it, also when a request failed.
    pub(super) fn run(&mut self, batch: &mut Batch<'_>) -> io::Result<Done> {
        let mut pace = Pace::start(batch.goal, self.slots.len());
        let (mut wrong, mut failure) = (0, None);
        let mut finished: Vec<(usize, i32)> = Vec::with_capacity(self.slots.len());
        loop {
            // Each request goes to the device as soon as there is room for it: kept back for a batch, it would only
            // leave the device waiting.
            let room = !self.free.is_empty() && pace.issue();
            let waited = match room.then(|| self.free.pop()).flatten() {
                Some(slot) => {
                    self.prepare(slot, batch)?;
                    self.enter(0)
                }
                None if self.in_flight == 0 => break,
                None => self.enter(1),
            };
            match waited {
                Err(error) if !is_passing(&error) => return Err(error),
                _ => {}
            }
            finished.extend(
                self.ring.completion().map(|entry| (entry.user_data() as usize, entry.result())),
            );
            for (index, result) in finished.drain(..) {
                self.in_flight -= 1;
                self.free.push(index);
                let now = Instant::now();
                match self.complete(index, result, batch) {
                    Ok(right) => {
                        wrong += u64::from(!right);
                        if pace.complete(now) {
                            let latency = now - self.slots[index].submitted;
                            batch.latencies.push(latency.as_nanos() as u64);
                        }
                    }
                    Err(error) => {
                        // Nothing new is started; what is on its way is waited for.
                        pace.close();
                        failure.get_or_insert(error);
                    }
                }
            }
        }
        failure.map_or(Ok(pace.done(wrong)), Err)
    }

    /// Hands over what is prepared, waits for `wanted` completions and lets those that are there come in.
    fn enter(&mut self, wanted: u32) -> io::Result<usize> {
        const GET_EVENTS: u32 = 1;
        let prepared = self.ring.submission().len() as u32;
        // SAFETY: no argument is passed, and every entry handed over came from `prepare`, which says why it is sound.
        unsafe { self.ring.submitter().enter::<libc::sigset_t>(prepared, wanted, GET_EVENTS, None) }
    }

    fn prepare(&mut self, index: usize, batch: &mut Batch<'_>) -> io::Result<()> {
        let offset = batch.cursor.advance();
        let slot = &mut self.slots[index];
        let buffer = self.buffers.get(index);
        let descriptor = types::Fd(batch.file.as_raw_fd());
        let entry: squeue::Entry = if batch.write {
            batch.noise.fill(buffer, offset, batch.generation, &mut slot.held);
            opcode::Write::new(descriptor, buffer.as_ptr(), self.block as u32)
                .offset(offset)
                .build()
        } else {
            slot.held = None;
            opcode::Read::new(descriptor, buffer.as_mut_ptr(), self.block as u32)
                .offset(offset)
                .build()
        };
        slot.offset = offset;
        slot.submitted = Instant::now();
        // SAFETY: the buffer belongs to this slot, which is in no other request (it was on the free list), stays at
        // its address as long as `self.buffers` lives, and is leaked by `drop` should the request never return;
        // the descriptor is open for as long as the batch borrows the file, and `run` waits for every request.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(index as u64)) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.in_flight += 1;
        Ok(())
    }

    /// Takes a completion in; whether what was read is what was written.
    fn complete(&mut self, index: usize, result: i32, batch: &Batch<'_>) -> io::Result<bool> {
        let slot = &self.slots[index];
        if result < 0 {
            return Err(io::Error::from_raw_os_error(-result));
        }
        if result as usize != self.block {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("{result} of {} bytes at offset {}", self.block, slot.offset),
            ));
        }
        if batch.write {
            batch.ledger.note(slot.offset, self.block, batch.generation);
            return Ok(true);
        }
        let offset = slot.offset;
        Ok(stamped(self.buffers.get(index), offset, batch.ledger))
    }
}

/// A ring whose completions wait until they are asked for instead of interrupting the thread, as fio's do; kernels
/// before 6.1 do not know it.
fn quiet_ring(depth: u32) -> io::Result<IoUring> {
    IoUring::builder().setup_coop_taskrun().setup_single_issuer().setup_defer_taskrun().build(depth)
}

/// Errors after which the same call is made again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            // The kernel may still write into them.
            std::mem::forget(std::mem::take(&mut self.buffers));
        }
    }
}
