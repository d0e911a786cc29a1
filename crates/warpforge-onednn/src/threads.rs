//! Our threads for the library: it hands its tasks to a [`Threads`], and no panic crosses into C++.
#![allow(unsafe_code)]

use crate::engine::engine;
use crate::error::{OnednnError, check};
use crate::sys;
use std::cell::RefCell;
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

/// Something that runs tasks in parallel. The engine's pool is one.
pub trait Threads: Send + Sync {
    /// How many tasks run at once, the caller's own thread included. Always the same.
    fn count(&self) -> usize;

    /// Whether the calling thread is inside one of the tasks, where nothing more is run in parallel.
    fn inside(&self) -> bool;

    /// Calls `body` once with each number below `tasks`, in any order and in parallel, and returns when all calls have
    /// returned.
    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync));
}

/// Threads in the form the library takes, with a stream on them. Any number of executions can use one at once.
///
/// When the linked oneDNN was not built for a thread pool of the caller ([`Threadpool::is_used`]), it runs on threads of
/// its own and the given ones are not called.
pub struct Threadpool {
    stream: *mut sys::dnnl_stream,
    #[cfg(onednn_threadpool)]
    pool: *mut std::ffi::c_void,
    threads: Box<Arc<dyn Threads>>,
}

// SAFETY: the pool and the stream have no state that executions change (the pool in use is kept for each thread by the
// library), and `Threads` may be called from anywhere.
unsafe impl Send for Threadpool {}
// SAFETY: as above.
unsafe impl Sync for Threadpool {}

impl Threadpool {
    /// A stream of work on these threads.
    pub fn new(threads: Arc<dyn Threads>) -> Result<Self, OnednnError> {
        let engine = engine()?;
        let mut built = Threadpool {
            stream: null_mut(),
            #[cfg(onednn_threadpool)]
            pool: null_mut(),
            threads: Box::new(threads),
        };
        // SAFETY: the context is boxed, so it stays where it is until the pool is destroyed; the engine is live.
        let status = unsafe { built.open(engine) };
        check("dnnl_stream_create", status, || format!("{} threads", built.threads.count()))?;
        Ok(built)
    }

    #[cfg(onednn_threadpool)]
    unsafe fn open(&mut self, engine: *mut sys::dnnl_engine) -> std::ffi::c_int {
        let context: *const Arc<dyn Threads> = &raw const *self.threads;
        // SAFETY: the callbacks take exactly this context.
        unsafe {
            self.pool = sys::warpforge_onednn_pool_create(
                context.cast(),
                callbacks::count,
                callbacks::inside,
                callbacks::run,
            );
            if self.pool.is_null() {
                return sys::dnnl_out_of_memory;
            }
            sys::dnnl_threadpool_interop_stream_create(&mut self.stream, engine, self.pool)
        }
    }

    #[cfg(not(onednn_threadpool))]
    unsafe fn open(&mut self, engine: *mut sys::dnnl_engine) -> std::ffi::c_int {
        // SAFETY: a live engine; writes one handle.
        unsafe { sys::dnnl_stream_create(&mut self.stream, engine, sys::dnnl_stream_in_order) }
    }

    /// How many tasks run at once.
    pub fn count(&self) -> usize {
        self.threads.count()
    }

    /// Whether the library runs its tasks on the given threads.
    pub const fn is_used() -> bool {
        cfg!(onednn_threadpool)
    }

    pub(crate) fn stream(&self) -> *mut sys::dnnl_stream {
        self.stream
    }
}

impl fmt::Debug for Threadpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threadpool").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Drop for Threadpool {
    fn drop(&mut self) {
        // SAFETY: made by the library and the shim, owned by this value alone; the stream goes before its pool.
        unsafe {
            if !self.stream.is_null() {
                sys::dnnl_stream_destroy(self.stream);
            }
            #[cfg(onednn_threadpool)]
            if !self.pool.is_null() {
                sys::warpforge_onednn_pool_destroy(self.pool);
            }
        }
    }
}

thread_local! {
    /// What went wrong in the tasks of the primitive that this thread is executing: tasks are handed out by the
    /// thread that executes, so this is where the call that must report it looks.
    static FAILURE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Takes what went wrong since the last time.
pub(crate) fn take_failure() -> Option<String> {
    FAILURE.with(|failure| failure.borrow_mut().take())
}

#[cfg(onednn_threadpool)]
mod callbacks {
    //! What the shim calls. A panic stops here: it is kept for the call that executes the primitive.
    use super::{FAILURE, Threads};
    use crate::sys;
    use std::any::Any;
    use std::ffi::{c_int, c_void};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Calls into the threads behind a context, or gives the default after a panic.
    fn guarded<T>(context: *const c_void, default: T, call: impl FnOnce(&dyn Threads) -> T) -> T {
        // SAFETY: the context is the boxed `Arc` that the pool was created with, which outlives the pool.
        let threads = unsafe { &*context.cast::<Arc<dyn Threads>>() };
        catch_unwind(AssertUnwindSafe(|| call(threads.as_ref()))).unwrap_or_else(|payload| {
            record(message(payload.as_ref()));
            default
        })
    }

    fn record(message: String) {
        FAILURE.with(|failure| {
            failure.borrow_mut().get_or_insert(message);
        });
    }

    fn message(payload: &(dyn Any + Send)) -> String {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned())
    }

    pub(super) extern "C" fn count(context: *const c_void) -> c_int {
        guarded(context, 1, |threads| c_int::try_from(threads.count().max(1)).unwrap_or(c_int::MAX))
    }

    pub(super) extern "C" fn inside(context: *const c_void) -> c_int {
        guarded(context, 1, |threads| c_int::from(threads.inside()))
    }

    /// The closure, which the library keeps alive and lets any thread call until this returns.
    struct Closure(*const c_void);
    // SAFETY: the library hands it out to be called by several threads at once.
    unsafe impl Sync for Closure {}

    impl Closure {
        fn call(&self, index: c_int, tasks: c_int) -> bool {
            // SAFETY: alive until `run` returns, and called with a number below `tasks`.
            unsafe { sys::warpforge_onednn_task(self.0, index, tasks) == 0 }
        }
    }

    pub(super) extern "C" fn run(context: *const c_void, tasks: c_int, closure: *const c_void) {
        let closure = Closure(closure);
        let threw = AtomicBool::new(false);
        let body = |index: usize| {
            let index = c_int::try_from(index).expect("a task's number is below a C int");
            if index >= tasks || !closure.call(index, tasks) {
                threw.store(true, Ordering::Relaxed);
            }
        };
        if tasks == 1 {
            // Not worth waking anyone.
            body(0);
        } else {
            let count = usize::try_from(tasks).unwrap_or(0);
            guarded(context, (), |threads| threads.run(count, &body));
        }
        if threw.load(Ordering::Relaxed) {
            record("a task of the library threw an exception".to_owned());
        }
    }
}
