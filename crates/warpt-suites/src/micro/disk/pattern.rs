//! What the scratch file holds: every 512-byte sector begins with its own offset, a generation and a mark, and
//! goes on with noise that does not compress. A sector from the wrong place, an old sector where a new one was
//! written, and a damaged one are all told apart from the right one.

use std::sync::atomic::{AtomicU8, Ordering};

/// The unit of stamping.
const SECTOR: usize = 512;
/// The unit the ledger remembers; every access is a multiple of it.
pub(super) const PAGE: usize = 4096;
/// The noise repeats at this distance; also the largest access.
pub(super) const PERIOD: usize = 1 << 20;
const MARK: u32 = u32::from_le_bytes(*b"wrpt");
const STAMP: usize = 16;

/// The noise of one period.
#[derive(Debug)]
pub(super) struct Noise(Vec<u8>);

impl Noise {
    pub(super) fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(0x5eed);
        Self((0..PERIOD / 8).flat_map(|_| random.u64(..).to_le_bytes()).collect())
    }

    /// Makes `buffer` the content of `offset` in `generation`. `held` is the place whose noise the buffer still
    /// holds from last time; when it is the same, only the stamps are written.
    pub(super) fn fill(
        &self,
        buffer: &mut [u8],
        offset: u64,
        generation: u8,
        held: &mut Option<usize>,
    ) {
        let place = (offset % PERIOD as u64) as usize;
        if *held != Some(place) {
            buffer.copy_from_slice(&self.0[place..place + buffer.len()]);
            *held = Some(place);
        }
        for (index, sector) in buffer.chunks_exact_mut(SECTOR).enumerate() {
            sector[..STAMP].copy_from_slice(&stamp(offset + (index * SECTOR) as u64, generation));
        }
    }

    /// Whether `buffer` is exactly the content of `offset`, each page in the generation the ledger says.
    pub(super) fn matches(&self, buffer: &[u8], offset: u64, ledger: &Ledger) -> bool {
        let place = (offset % PERIOD as u64) as usize;
        buffer.chunks_exact(SECTOR).enumerate().all(|(index, sector)| {
            let at = index * SECTOR;
            let here = offset + at as u64;
            sector[..STAMP] == stamp(here, ledger.generation(here))
                && sector[STAMP..] == self.0[place + at + STAMP..place + at + SECTOR]
        })
    }
}

fn stamp(offset: u64, generation: u8) -> [u8; STAMP] {
    let mut bytes = [0; STAMP];
    bytes[..8].copy_from_slice(&offset.to_le_bytes());
    bytes[8..12].copy_from_slice(&u32::from(generation).to_le_bytes());
    bytes[12..].copy_from_slice(&MARK.to_le_bytes());
    bytes
}

/// Whether the first and the last sector of a block carry the right stamps: cheap enough for every read.
pub(super) fn stamped(buffer: &[u8], offset: u64, ledger: &Ledger) -> bool {
    let last = buffer.len() - SECTOR;
    [0, last].into_iter().all(|at| {
        let here = offset + at as u64;
        buffer[at..at + STAMP] == stamp(here, ledger.generation(here))
    })
}

/// Which generation each page of the file holds; 0 is "never written".
#[derive(Debug)]
pub(super) struct Ledger(Vec<AtomicU8>);

impl Ledger {
    pub(super) fn new(file_bytes: u64) -> Self {
        Self((0..file_bytes / PAGE as u64).map(|_| AtomicU8::new(0)).collect())
    }

    fn generation(&self, offset: u64) -> u8 {
        self.0.get((offset / PAGE as u64) as usize).map_or(0, |page| page.load(Ordering::Relaxed))
    }

    /// Notes that `length` bytes from `offset` hold `generation` now.
    pub(super) fn note(&self, offset: u64, length: usize, generation: u8) {
        let first = (offset / PAGE as u64) as usize;
        for page in &self.0[first..first + length / PAGE] {
            page.store(generation, Ordering::Relaxed);
        }
    }

    /// The offsets of the pages that hold `generation`.
    pub(super) fn pages_of(&self, generation: u8) -> impl Iterator<Item = u64> + '_ {
        self.0
            .iter()
            .enumerate()
            .filter(move |(_, page)| page.load(Ordering::Relaxed) == generation)
            .map(|(index, _)| (index * PAGE) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_places_old_content_and_damage_are_found() {
        let (noise, ledger) = (Noise::new(), Ledger::new(4 << 20));
        let mut buffer = vec![0; PAGE];
        noise.fill(&mut buffer, 8192, 3, &mut None);
        ledger.note(8192, PAGE, 3);
        assert!(noise.matches(&buffer, 8192, &ledger) && stamped(&buffer, 8192, &ledger));
        assert!(!noise.matches(&buffer, 12288, &ledger) && !stamped(&buffer, 12288, &ledger));
        ledger.note(8192, PAGE, 4);
        assert!(!noise.matches(&buffer, 8192, &ledger) && !stamped(&buffer, 8192, &ledger));
        ledger.note(8192, PAGE, 3);
        buffer[1000] ^= 1;
        assert!(!noise.matches(&buffer, 8192, &ledger));
        assert_eq!(ledger.pages_of(3).collect::<Vec<_>>(), [8192]);
    }

    #[test]
    fn a_buffer_that_still_holds_the_noise_is_only_stamped_anew() {
        let (noise, ledger) = (Noise::new(), Ledger::new(4 << 20));
        let (mut buffer, mut held) = (vec![0; PERIOD], None);
        noise.fill(&mut buffer, 0, 1, &mut held);
        noise.fill(&mut buffer, PERIOD as u64, 1, &mut held);
        ledger.note(PERIOD as u64, PERIOD, 1);
        assert!(noise.matches(&buffer, PERIOD as u64, &ledger));
    }
}
