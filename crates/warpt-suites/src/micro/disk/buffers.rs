//! Page-aligned buffers, one per request in flight, as direct I/O needs them. Their addresses never change.

use super::pattern::PAGE;

/// A row of equal buffers.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    storage: Vec<u8>,
    start: usize,
    size: usize,
}

impl Buffers {
    /// `count` buffers of `size` bytes, a multiple of the page size.
    pub(super) fn new(count: usize, size: usize) -> Self {
        let storage = vec![0; count * size + PAGE];
        let start = storage.as_ptr().align_offset(PAGE);
        Self { storage, start, size }
    }

    /// One of them.
    pub(super) fn get(&mut self, index: usize) -> &mut [u8] {
        let from = self.start + index * self.size;
        &mut self.storage[from..from + self.size]
    }

    /// All of them, to hand one to each thread.
    pub(super) fn split(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.storage[self.start..].chunks_exact_mut(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_is_aligned_and_none_overlap() {
        let mut buffers = Buffers::new(3, 8192);
        for index in 0..3 {
            let buffer = buffers.get(index);
            assert_eq!((buffer.as_ptr() as usize % PAGE, buffer.len()), (0, 8192));
            buffer.fill(index as u8 + 1);
        }
        for (index, buffer) in buffers.split().take(3).enumerate() {
            assert!(buffer.iter().all(|byte| *byte == index as u8 + 1));
        }
    }
}
