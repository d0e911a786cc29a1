//! Zeroed memory straight from the kernel, aligned to a huge page and advised to use huge pages. Nothing is
//! touched here, so a page lands on the memory node of the thread that writes it first.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::error::SuiteError;

/// The size buffers are aligned to: a huge page on x86-64 and on aarch64 with 4 KiB pages.
pub const HUGE_PAGE_BYTES: usize = 2 << 20;

mod sealed {
    /// Number types for which every bit pattern, all zeros included, is a value.
    pub trait Plain: Copy {}
    impl Plain for u8 {}
    impl Plain for i8 {}
    impl Plain for u16 {}
    impl Plain for i32 {}
    impl Plain for u64 {}
    impl Plain for usize {}
    impl Plain for f32 {}
    impl Plain for f64 {}
}
pub use sealed::Plain;

/// A private mapping of zeroed memory.
#[derive(Debug)]
pub struct Buffer {
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    start: NonNull<u8>,
    bytes: usize,
    huge_pages: Result<(), String>,
}

// SAFETY: the mapping is plain memory owned by this value alone; access follows the borrow of the value.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Maps `bytes` (at least one) of zeroed memory.
    pub fn new(bytes: usize) -> Result<Self, SuiteError> {
        let bytes = bytes.max(1);
        let memory =
            |source: rustix::io::Errno| SuiteError::Memory { bytes, source: source.into() };
        let mapping_bytes = bytes
            .checked_next_multiple_of(HUGE_PAGE_BYTES)
            .and_then(|rounded| rounded.checked_add(HUGE_PAGE_BYTES))
            .ok_or_else(|| memory(rustix::io::Errno::NOMEM))?;
        // SAFETY: a new private mapping at an address of the kernel's choice overlaps nothing.
        let mapping = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapping_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(memory)?;
        let mapping =
            NonNull::new(mapping.cast::<u8>()).ok_or_else(|| memory(rustix::io::Errno::NOMEM))?;
        let shift = mapping.align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the mapping is one huge page longer than what is used, so the shifted start lies within it.
        let start = unsafe { mapping.add(shift) };
        let length = mapping_bytes - HUGE_PAGE_BYTES;
        // SAFETY: the range is inside the mapping made above; the advice changes no contents.
        let huge_pages = unsafe { madvise(start.as_ptr().cast(), length, Advice::LinuxHugepage) }
            .map_err(|errno| format!("madvise(MADV_HUGEPAGE): {errno}"));
        Ok(Self { mapping, mapping_bytes, start, bytes, huge_pages })
    }

    /// A buffer for `count` numbers.
    pub fn of<T: Plain>(count: usize) -> Result<Self, SuiteError> {
        Self::new(count.saturating_mul(size_of::<T>()))
    }

    /// Whether the kernel took the advice to use huge pages, or why not.
    pub fn huge_pages(&self) -> Result<(), &str> {
        self.huge_pages.as_ref().copied().map_err(String::as_str)
    }

    /// The length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The memory as numbers.
    pub fn as_slice<T: Plain>(&self) -> &[T] {
        // SAFETY: the start is aligned to a huge page, the length is within the mapping, the kernel zeroed it
        // and every bit pattern is a value of `T`; the borrow of `self` keeps writers away.
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes / size_of::<T>())
        }
    }

    /// The memory as numbers to write.
    pub fn as_mut_slice<T: Plain>(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`, and the exclusive borrow of `self` keeps everyone else away.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes / size_of::<T>())
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the range is exactly the mapping made in `new`, and no borrow of it can outlive `self`.
        let unmapped = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping made here can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_aligned_and_writable() {
        let mut buffer = Buffer::of::<f64>(1001).unwrap();
        assert_eq!(buffer.bytes(), 8008);
        assert_eq!(buffer.as_slice::<f64>().as_ptr().align_offset(HUGE_PAGE_BYTES), 0);
        assert!(buffer.as_slice::<f64>().iter().all(|value| *value == 0.0));
        buffer.as_mut_slice::<f64>()[1000] = 1.5;
        assert_eq!(buffer.as_slice::<f64>().len(), 1001);
        assert_eq!(buffer.as_slice::<u64>()[1000], 1.5f64.to_bits());
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        assert!(matches!(Buffer::new(usize::MAX), Err(SuiteError::Memory { .. })));
        assert!(matches!(Buffer::of::<f64>(usize::MAX / 4), Err(SuiteError::Memory { .. })));
    }
}
