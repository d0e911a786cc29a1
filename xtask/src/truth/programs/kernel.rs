//! The body that every comparison of the truth protocol runs: a chain of dependent shifts and multiplications, whose
//! time is its length. Compiled into this program, as a program of its own by `rustc -O`, and into the criterion peer;
//! the C++ peer holds the same chain.

/// Walks the chain for `length` steps.
#[inline(never)]
pub fn chain(length: u64) -> u64 {
    let mut value = std::hint::black_box(3_u64);
    for _ in 0..length {
        // Shift and product do not commute, so no compiler can take several steps at once.
        value = (value ^ (value >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    std::hint::black_box(value)
}
