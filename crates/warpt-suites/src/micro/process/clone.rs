//! The kernel's part of starting a process and of starting a thread, without a program to load, a stack to map or
//! a library to tell: the floors of `process_spawn`.
//!
//! Invariant: a child returns at once, having touched neither memory nor thread-local state of its parent, and the
//! parent waits for its end before the stack is used again.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex;

const STACK_BYTES: usize = 64 << 10;

/// A stack for children, one at a time.
#[derive(Debug)]
pub(super) struct Cloner {
    stack: Vec<u128>,
}

/// What a child runs. It must not panic or use thread-local state: it shares the parent's.
extern "C" fn nothing(_argument: *mut c_void) -> c_int {
    0
}

impl Cloner {
    pub(super) fn new() -> Self {
        Self { stack: vec![0; STACK_BYTES / size_of::<u128>()] }
    }

    fn top(&mut self) -> *mut c_void {
        // One past the end, aligned to 16 as the ABI asks: stacks grow down.
        self.stack.as_mut_ptr_range().end.cast()
    }

    /// Starts an empty process in this address space and waits for its end.
    pub(super) fn process(&mut self) -> io::Result<()> {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child runs `nothing` on a stack of its own that outlives it, since CLONE_VFORK suspends this
        // thread until the child has exited; the child writes nothing but that stack.
        let child = unsafe { libc::clone(nothing, self.top(), flags, ptr::null_mut()) };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        let pid = rustix::process::Pid::from_raw(child);
        loop {
            match rustix::process::waitpid(pid, rustix::process::WaitOptions::empty()) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Starts an empty thread of this process and waits for its end.
    pub(super) fn thread(&mut self) -> io::Result<()> {
        let flags = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM
            | libc::CLONE_CHILD_CLEARTID;
        let alive = AtomicU32::new(1);
        // SAFETY: the child runs `nothing` on a stack of its own; the wait below returns only when the kernel has
        // cleared `alive`, which it does after the thread left user mode for good, so stack and word outlive it.
        // Without CLONE_SETTLS the child has the parent's thread pointer, which `nothing` does not use, and the C
        // library's entry ends the thread with the exit system call when `nothing` returns.
        let child = unsafe {
            libc::clone(
                nothing,
                self.top(),
                flags,
                ptr::null_mut(),
                ptr::null_mut::<c_int>(),
                ptr::null_mut::<c_void>(),
                alive.as_ptr(),
            )
        };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        while alive.load(Ordering::Acquire) != 0 {
            // The kernel wakes the word without the private flag; a lost race or a signal only repeats the look.
            let _ = futex::wait(&alive, futex::Flags::empty(), 1, None);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_children_end_and_are_waited_for() {
        let mut cloner = Cloner::new();
        for _ in 0..50 {
            cloner.process().unwrap();
            cloner.thread().unwrap();
        }
    }
}
