//! Memory of a run, aligned for vectors.
#![allow(unsafe_code)]

use super::arena::ALIGNMENT;

/// A piece of memory that begins at a cache line.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl Send for Buffer {}
// SAFETY: shared references only hand out the address.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zeroed memory; nothing is taken from the system before it is touched.
    pub(crate) fn new(bytes: usize) -> Self {
        let layout = Self::layout(bytes);
        // SAFETY: the layout has at least one line.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        if start.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Self { start, bytes }
    }

    /// A copy of these bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let buffer = Self::new(bytes.len());
        // SAFETY: the new memory has as many bytes and overlaps nothing.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.start, bytes.len()) };
        buffer
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

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with the same layout.
        unsafe { std::alloc::dealloc(self.start, Self::layout(self.bytes)) };
    }
}
