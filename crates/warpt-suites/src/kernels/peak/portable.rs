//! The register loop for architectures without one of their own: plain arithmetic the compiler may vectorize.
#![allow(unsafe_code)]

use std::hint::black_box;

/// Accumulators of each kernel.
pub(super) const COUNT: usize = 8;
/// Bytes of a register that are used.
pub(super) const REGISTER_BYTES: usize = 16;

/// Defines a kernel of one multiplication and one addition per lane, accumulator and round.
macro_rules! portable_kernel {
    ($name:ident, $lane:ty) => {
        /// Multiplication and addition, 16 bytes at a time.
        ///
        /// # Safety
        /// `state` must hold the registers (64 bytes each), aligned to 64 bytes.
        pub(super) unsafe fn $name(state: *mut u8, rounds: u64) {
            const LANES: usize = REGISTER_BYTES / size_of::<$lane>();
            // SAFETY: every access is within the state the caller vouches for, and any bits are a number.
            let at = |register: usize| unsafe {
                &mut *state.add(register * 64).cast::<[$lane; LANES]>()
            };
            let mut accumulators: [[$lane; LANES]; COUNT] = std::array::from_fn(|index| *at(index));
            let (left, right) = (*at(COUNT), *at(COUNT + 1));
            for _ in 0..rounds {
                let left = black_box(left);
                for accumulator in &mut accumulators {
                    for lane in 0..LANES {
                        accumulator[lane] += left[lane] * right[lane];
                    }
                }
            }
            for (index, accumulator) in accumulators.into_iter().enumerate() {
                *at(index) = accumulator;
            }
        }
    };
}

portable_kernel!(f32_portable, f32);
portable_kernel!(f64_portable, f64);
