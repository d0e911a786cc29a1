//! The clock a core runs at right now, from a chain of dependent instructions whose latency is known. It needs no
//! counter and no permission, so it also works in a virtual machine.
#![allow(unsafe_code)]

use std::time::Instant;

/// Instructions per turn of the chain's loop.
const CHAIN: u64 = 64;
/// Turns per reading: about 30 µs at 3 GHz.
const TURNS: u64 = 480;

/// The sentence that says how the clock is measured.
#[cfg(target_arch = "x86_64")]
pub const METHOD: &str = "a chain of dependent 64-bit multiplications, 3 cycles each";
/// The sentence that says how the clock is measured.
#[cfg(target_arch = "aarch64")]
pub const METHOD: &str = "a chain of dependent additions, 1 cycle each";
/// The sentence that says how the clock is measured.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const METHOD: &str = "not measured on this architecture";

/// The clock of the calling thread's core in GHz, or `None` where no latency is known for the architecture.
/// Takes about 100 µs: the fastest of three readings, since an interruption only ever slows one down.
pub fn measure_ghz() -> Option<f64> {
    let mut best: Option<f64> = None;
    for _ in 0..3 {
        let start = Instant::now();
        let cycles = chain(TURNS)?;
        let nanoseconds = start.elapsed().as_nanos().max(1) as f64;
        let reading = cycles as f64 / nanoseconds;
        best = Some(best.map_or(reading, |best| best.max(reading)));
    }
    best
}

/// Runs the chain and says how many cycles it took by construction.
#[cfg(target_arch = "x86_64")]
fn chain(turns: u64) -> Option<u64> {
    // SAFETY: register arithmetic only; every register written is declared.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "imul {value}, {value}",
            ".endr",
            "dec {turns}",
            "jnz 2b",
            turns = inout(reg) turns => _,
            value = inout(reg) 3u64 => _,
            options(nomem, nostack),
        );
    }
    Some(turns * CHAIN * 3)
}

/// Runs the chain and says how many cycles it took by construction.
#[cfg(target_arch = "aarch64")]
fn chain(turns: u64) -> Option<u64> {
    // SAFETY: register arithmetic only; every register written is declared.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "add {value}, {value}, {turns}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            turns = inout(reg) turns => _,
            value = inout(reg) 3u64 => _,
            options(nomem, nostack),
        );
    }
    Some(turns * CHAIN)
}

/// No chain is known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain(_turns: u64) -> Option<u64> {
    let _ = (CHAIN, TURNS);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn a_clock_is_positive_and_finite() {
        let clock = measure_ghz().unwrap();
        assert!(clock.is_finite() && clock > 0.0, "{clock}");
    }
}
