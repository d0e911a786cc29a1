//! Reads a sample of pages back and compares every byte with what was written there.

use std::io;
use std::os::unix::fs::FileExt;

use super::buffers::Buffers;
use super::scratch::{CHECK_BYTES, Scratch};

/// Pages looked at, spread over those in question.
const SAMPLE: usize = 256;

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) pages: u64,
    pub(super) wrong: u64,
}

/// Reads back pages that should hold `generation`; pages of any when there is none to look for.
pub(super) fn verify(scratch: &Scratch, generation: Option<u8>) -> io::Result<Seen> {
    let pages: Vec<u64> = match generation {
        Some(generation) => scratch.ledger.pages_of(generation).collect(),
        None => (0..scratch.bytes).step_by(CHECK_BYTES).collect(),
    };
    let step = (pages.len() / SAMPLE).max(1);
    let mut buffers = Buffers::new(1, CHECK_BYTES);
    let buffer = buffers.get(0);
    let mut seen = Seen { pages: 0, wrong: 0 };
    // A random page out of each stretch: an even step could meet only one half of every block.
    for stretch in pages.chunks(step) {
        let offset = stretch[fastrand::usize(..stretch.len())];
        scratch.file.read_exact_at(buffer, offset)?;
        seen.pages += 1;
        seen.wrong += u64::from(!scratch.noise.matches(buffer, offset, &scratch.ledger));
    }
    Ok(seen)
}
