//! Memory that holds machine code: written first, then executable and no longer writable.
#![allow(unsafe_code)]

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::Unsupported;

/// A function in memory of its own.
#[derive(Debug)]
pub(crate) struct Executable {
    start: *mut core::ffi::c_void,
    bytes: usize,
}

// SAFETY: the memory is only read and executed once it is here.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// Copies code to memory where it can be executed.
    pub(crate) fn new(code: &[u8]) -> Result<Self, Unsupported> {
        let failed = |error: rustix::io::Errno| Unsupported(format!("memory for code: {error}"));
        let bytes = code.len().max(1);
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping, at a place of the system's choice.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) };
        let executable = Self { start: start.map_err(failed)?, bytes };
        // SAFETY: the mapping has room for the code, may be written, and nobody else knows it; then nobody writes it again.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), executable.start.cast(), code.len());
            let access = MprotectFlags::READ | MprotectFlags::EXEC;
            mprotect(executable.start, bytes, access).map_err(failed)?;
        }
        Ok(executable)
    }

    /// A function that is there already, and is not taken away.
    #[cfg(feature = "printed")]
    pub(crate) fn there(function: extern "C" fn(*mut u64)) -> Self {
        Self { start: function as *mut core::ffi::c_void, bytes: 0 }
    }

    /// Calls it.
    ///
    /// # Safety
    ///
    /// The code is a function of one pointer that follows the C calling convention, and the frame is what it expects.
    pub(crate) unsafe fn call(&self, frame: *mut u64) {
        // SAFETY: the caller's promise.
        unsafe {
            let function: extern "C" fn(*mut u64) = std::mem::transmute(self.start);
            function(frame);
        }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the mapping is this one's alone, and no call is under way while it is dropped.
            let _ = unsafe { munmap(self.start, self.bytes) };
        }
    }
}
