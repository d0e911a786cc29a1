//! The blocks of a bandwidth transfer: a 16-byte head (mark, flags, number within the transfer) and a fixed
//! pattern. The receiver checks the head and a few words of every block while the clock runs, which costs
//! nothing beside the copy, and every word of the last block after it stopped.

/// Marks a block's first bytes.
const MARK: u32 = u32::from_le_bytes(*b"BLCK");
const LAST: u32 = 1;
const HEAD_WORDS: usize = 2;
/// Words looked at in every block.
const SPOT_CHECKS: usize = 8;

/// The word of the pattern at a place.
fn word(index: usize) -> u64 {
    let mut value = (index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value ^ (value >> 27)
}

/// A buffer of one block.
#[derive(Debug, Clone)]
pub(super) struct Block(Vec<u8>);

impl Block {
    /// A block with the pattern in place. `bytes` is a multiple of 8 within [`super::wire::BLOCK_BYTES`].
    pub(super) fn new(bytes: u32) -> Self {
        let words = bytes as usize / 8;
        Self((0..words).flat_map(|index| word(index).to_le_bytes()).collect())
    }

    /// Its content.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Where to receive into.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Writes the head.
    pub(super) fn stamp(&mut self, number: u64, last: bool) {
        let flags = if last { LAST } else { 0 };
        self.0[..4].copy_from_slice(&MARK.to_le_bytes());
        self.0[4..8].copy_from_slice(&flags.to_le_bytes());
        self.0[8..16].copy_from_slice(&number.to_le_bytes());
    }

    /// Whether the block is the last one; `None` when its head is not that of block `number`.
    pub(super) fn head(&self, number: u64) -> Option<bool> {
        let (mark, rest) = self.0.split_first_chunk::<4>()?;
        let (flags, rest) = rest.split_first_chunk::<4>()?;
        let (found, _) = rest.split_first_chunk::<8>()?;
        if u32::from_le_bytes(*mark) != MARK || u64::from_le_bytes(*found) != number {
            return None;
        }
        match u32::from_le_bytes(*flags) {
            0 => Some(false),
            LAST => Some(true),
            _ => None,
        }
    }

    fn holds(&self, index: usize) -> bool {
        self.0
            .get(index * 8..index * 8 + 8)
            .is_some_and(|bytes| *bytes == word(index).to_le_bytes())
    }

    /// Looks at a few words, at places that change with the block's number.
    pub(super) fn spot_check(&self, number: u64) -> bool {
        let words = self.0.len() / 8 - HEAD_WORDS;
        let stride = words / SPOT_CHECKS;
        (0..SPOT_CHECKS)
            .all(|k| self.holds(HEAD_WORDS + (k * stride + number as usize % words) % words))
    }

    /// Looks at every word.
    pub(super) fn full_check(&self) -> bool {
        (HEAD_WORDS..self.0.len() / 8).all(|index| self.holds(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_is_found_and_a_wrong_head_refused() {
        let mut block = Block::new(4096);
        block.stamp(7, true);
        assert_eq!(block.head(7), Some(true));
        assert_eq!(block.head(8), None);
        assert!(block.full_check() && (0..1000).all(|number| block.spot_check(number)));
        block.bytes_mut()[2000] ^= 1;
        assert!(!block.full_check());
        assert!(!(0..1000).all(|number| block.spot_check(number)));
    }
}
