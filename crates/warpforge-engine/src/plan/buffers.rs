//! Memory of a run, aligned for vectors.
#![allow(unsafe_code)]

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::arena::ALIGNMENT;

/// From this size on memory comes from the system page by page, large pages where it has them.
const MAPPED: usize = 2 << 20;

/// A piece of memory that begins at a cache line.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: *mut u8,
    bytes: usize,
    mapped: bool,
}

/// Memory of its own from the system; none where it gives none.
fn mapped(bytes: usize) -> Option<*mut u8> {
    let (read_write, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: new memory at a place the system chooses.
    let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, read_write, private) }.ok()?;
    // Large pages are faster to bring in and to find; without them it works as well.
    // SAFETY: the memory was just mapped, and the advice does not change what it holds.
    let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
    Some(start.cast())
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Buffer {}
// SAFETY: shared references only hand out the address.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zeroed memory; of large pieces nothing is taken from the system before it is touched.
    pub(crate) fn new(bytes: usize) -> Self {
        if bytes >= MAPPED
            && let Some(start) = mapped(bytes)
        {
            return Self { start, bytes, mapped: true };
        }
        let layout = Self::layout(bytes);
        // SAFETY: the layout has at least one line.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        if start.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Self { start, bytes, mapped: false }
    }

    /// A copy of these bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let buffer = Self::new(bytes.len());
        // SAFETY: the new memory has as many bytes and overlaps nothing.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.start, bytes.len()) };
        buffer
    }

    /// Takes another content of the same size.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.bytes, "another content of the same size");
        // SAFETY: both have as many bytes, and this memory belongs to this value alone.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start, bytes.len()) };
    }

    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes.max(1).next_multiple_of(ALIGNMENT), ALIGNMENT)
            .expect("plans above the address space are refused before")
    }

    /// Its address.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start
    }

    /// Its size as asked for.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Who shares a buffer reads it: it is written to only by its one owner, or before it is shared.
impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the memory is there and initialized, and as long as this reference lives nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.mapped {
            // SAFETY: mapped with this size, and nobody has the address any more.
            let _ = unsafe { munmap(self.start.cast(), self.bytes) };
            return;
        }
        // SAFETY: allocated with the same layout.
        unsafe { std::alloc::dealloc(self.start, Self::layout(self.bytes)) };
    }
}
