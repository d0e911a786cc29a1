//! What the loopback numbers are a fraction of, measured in the same run: the rate of one core's copies, and the
//! round trip of a byte through two pipes.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// As much as the kernel holds between two sockets: destinations beyond a core's first caches, as the kernel's are.
const WINDOW_BYTES: usize = 4 << 20;

/// Bytes per second one core copies, in blocks of `block_bytes`: the best of several short attempts.
pub(super) fn copy_rate(block_bytes: usize) -> f64 {
    let source = vec![1u8; block_bytes];
    let mut window = vec![0u8; WINDOW_BYTES.max(2 * block_bytes)];
    let mut pass = || {
        let start = Instant::now();
        let mut bytes = 0;
        for place in window.chunks_exact_mut(block_bytes) {
            place.copy_from_slice(black_box(&source));
            bytes += block_bytes;
        }
        black_box(&mut window);
        bytes as f64 / start.elapsed().as_secs_f64().max(1e-9)
    };
    let start = Instant::now();
    let mut best: f64 = 0.0;
    while start.elapsed() < Duration::from_millis(50) {
        best = best.max(pass());
    }
    best
}

/// The median seconds of a byte's way through a pipe to another thread and back.
pub(super) fn pipe_round_trip() -> io::Result<f64> {
    const ROUNDS: usize = 2000;
    let (mut there_read, mut there_write) = io::pipe()?;
    let (mut back_read, mut back_write) = io::pipe()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut byte = [0];
            // Ends when the other side closes its pipe.
            while there_read.read_exact(&mut byte).is_ok() && back_write.write_all(&byte).is_ok() {}
        });
        let mut times = Vec::with_capacity(ROUNDS);
        let mut byte = [7];
        for _ in 0..ROUNDS {
            let start = Instant::now();
            there_write.write_all(&byte)?;
            back_read.read_exact(&mut byte)?;
            times.push(start.elapsed().as_secs_f64());
        }
        drop(there_write);
        Ok(warpt_stats::order::median(&times))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_are_positive() {
        assert!(copy_rate(131_072) > 0.0);
        assert!(pipe_round_trip().unwrap() > 0.0);
    }
}
