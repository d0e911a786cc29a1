//! Handing one job at a time to the workers of a pool.
//!
//! A job is a borrowed function and a number of tasks. Its address is published under a new ticket; a worker joins by
//! counting itself in while the job is open and counts itself out when no task is left; the caller closes the job and waits
//! until nobody is in before the borrow ends. That is what makes handing out the address sound.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

type Body<'a> = &'a (dyn Fn(usize) + Sync + 'a);
type Panic = Box<dyn Any + Send>;

/// How long a worker looks for the next job before it sleeps: longer than the gap between two kernels of a plan, shorter
/// than anything a user would notice as a busy machine.
const SPIN_FOR: Duration = Duration::from_micros(100);

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is at work on a task.
pub(super) fn inside_task() -> bool {
    INSIDE.get()
}

/// What the caller and the workers share.
pub(super) struct Shared {
    /// One caller at a time.
    turn: Mutex<()>,
    /// Changes with every job.
    ticket: AtomicU64,
    /// Workers may join the job of the present ticket.
    open: AtomicBool,
    /// Workers that look at `body` now.
    joined: AtomicUsize,
    body: UnsafeCell<Option<Body<'static>>>,
    tasks: AtomicUsize,
    next: AtomicUsize,
    panic: Mutex<Option<Panic>>,
    /// Workers asleep, and the means to wake them.
    sleeping: Mutex<usize>,
    wake: Condvar,
    asleep: AtomicUsize,
    stopping: AtomicBool,
    /// Whether the time of threads is counted, and how many nanoseconds each was at work.
    counting: AtomicBool,
    busy: Vec<AtomicU64>,
}

// SAFETY: `body` is written only by the caller that holds `turn`, while the job is closed and nobody has joined; it is
// read only by threads that have joined an open job. What it points to is `Sync`.
unsafe impl Sync for Shared {}
// SAFETY: all other parts are `Send`, and the reference in `body` is to something `Sync`.
unsafe impl Send for Shared {}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            turn: Mutex::new(()),
            ticket: AtomicU64::new(0),
            open: AtomicBool::new(false),
            joined: AtomicUsize::new(0),
            body: UnsafeCell::new(None),
            tasks: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            panic: Mutex::new(None),
            sleeping: Mutex::new(0),
            wake: Condvar::new(),
            asleep: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            counting: AtomicBool::new(false),
            busy: (0..threads).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Runs a job with the help of the workers.
    pub(super) fn run(&self, tasks: usize, workers: usize, body: Body<'_>) -> Result<(), Panic> {
        let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the reference is given up below, after `open` is false and `joined` is 0, which is before this function
        // returns; so the longer lifetime is never made use of.
        let lasting = unsafe { std::mem::transmute::<Body<'_>, Body<'static>>(body) };
        // SAFETY: we hold `turn`, the job is closed and nobody has joined.
        unsafe { *self.body.get() = Some(lasting) };
        self.tasks.store(tasks, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
        self.open.store(true, Ordering::SeqCst);
        self.ticket.fetch_add(1, Ordering::SeqCst);
        self.wake_up(workers.min(tasks - 1));
        self.take_tasks(0, body);
        self.open.store(false, Ordering::SeqCst);
        let mut turns = 0_u32;
        while self.joined.load(Ordering::SeqCst) != 0 {
            pause(&mut turns);
        }
        // SAFETY: as above; nobody can join any more.
        unsafe { *self.body.get() = None };
        let panic = self.panic.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        panic.map_or(Ok(()), Err)
    }

    /// Does all tasks on the calling thread.
    pub(super) fn alone(&self, tasks: usize, body: Body<'_>) {
        if inside_task() {
            (0..tasks).for_each(body);
        } else {
            self.counted(0, || (0..tasks).for_each(body));
        }
    }

    /// The time of each thread since this was asked last.
    pub(super) fn take_busy(&self) -> Vec<Duration> {
        self.counting.store(true, Ordering::Relaxed);
        let time = |busy: &AtomicU64| Duration::from_nanos(busy.swap(0, Ordering::Relaxed));
        self.busy.iter().map(time).collect()
    }

    /// Does a thread's part of a job.
    fn counted(&self, thread: usize, work: impl FnOnce()) {
        if !self.counting.load(Ordering::Relaxed) {
            return work();
        }
        let start = Instant::now();
        work();
        let time = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if let Some(busy) = self.busy.get(thread) {
            busy.fetch_add(time, Ordering::Relaxed);
        }
    }

    fn take_tasks(&self, thread: usize, body: Body<'_>) {
        self.counted(thread, || self.take_each(body));
    }

    fn take_each(&self, body: Body<'_>) {
        let before = INSIDE.replace(true);
        let tasks = self.tasks.load(Ordering::Relaxed);
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                break;
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(task))) {
                // The rest is not begun.
                self.next.store(tasks, Ordering::Relaxed);
                let mut first =
                    self.panic.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                first.get_or_insert(panic);
            }
        }
        INSIDE.set(before);
    }

    fn wake_up(&self, wanted: usize) {
        // A worker that is about to sleep looks at the ticket once more after it has counted itself as asleep; either it
        // sees the new ticket there, or we see it asleep here.
        if self.asleep.load(Ordering::SeqCst) == 0 {
            return;
        }
        let sleeping = self.sleeping.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for _ in 0..wanted.min(*sleeping) {
            self.wake.notify_one();
        }
    }

    /// The life of a worker.
    pub(super) fn work(&self, thread: usize) {
        let mut seen = 0;
        loop {
            let ticket = self.next_ticket(seen);
            if self.stopping.load(Ordering::SeqCst) {
                return;
            }
            seen = ticket;
            self.joined.fetch_add(1, Ordering::SeqCst);
            if self.open.load(Ordering::SeqCst) {
                // SAFETY: we have joined while the job is open, so the caller waits for us before it ends the borrow.
                if let Some(body) = unsafe { *self.body.get() } {
                    self.take_tasks(thread, body);
                }
            }
            self.joined.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Waits for a ticket other than the last one, or for the end.
    fn next_ticket(&self, seen: u64) -> u64 {
        let news = || {
            let ticket = self.ticket.load(Ordering::SeqCst);
            (ticket != seen || self.stopping.load(Ordering::SeqCst)).then_some(ticket)
        };
        let start = Instant::now();
        loop {
            for _ in 0..64 {
                if let Some(ticket) = news() {
                    return ticket;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() > SPIN_FOR {
                break;
            }
        }
        let mut sleeping = self.sleeping.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *sleeping += 1;
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let ticket = loop {
            if let Some(ticket) = news() {
                break ticket;
            }
            sleeping = self.wake.wait(sleeping).unwrap_or_else(std::sync::PoisonError::into_inner);
        };
        *sleeping -= 1;
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        ticket
    }

    /// Ends the workers.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let _sleeping = self.sleeping.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.wake.notify_all();
    }
}

/// Waits a moment: first without giving the processor away, then with.
fn pause(turns: &mut u32) {
    *turns += 1;
    if turns.is_multiple_of(1024) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}
