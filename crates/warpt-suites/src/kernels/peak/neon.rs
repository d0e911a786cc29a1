//! The register loops of aarch64's vector unit; the state is laid out as on x86 (see [`super::State`]).
#![allow(unsafe_code)]

use std::arch::aarch64::{
    float32x4_t, float64x2_t, vfmaq_f32, vfmaq_f64, vld1q_f32, vld1q_f64, vst1q_f32, vst1q_f64,
};
use std::hint::black_box;

/// Accumulators of each kernel, of 32 registers.
pub(super) const COUNT: usize = 24;

/// Defines a kernel of one fused multiply-add per accumulator and round.
macro_rules! neon_kernel {
    ($name:ident, $lane:ty, $vector:ty, $load:ident, $store:ident, $fma:ident) => {
        /// Fused multiply-add on a 16-byte register.
        ///
        /// # Safety
        /// `state` must hold the registers (64 bytes each).
        pub(super) unsafe fn $name(state: *mut u8, rounds: u64) {
            // SAFETY: Neon is part of aarch64, and every access is within the state the caller vouches for.
            unsafe {
                let at = |register: usize| state.add(register * 64).cast::<$lane>();
                let mut accumulators: [$vector; COUNT] =
                    std::array::from_fn(|index| $load(at(index)));
                let left = $load(at(COUNT));
                let right = $load(at(COUNT + 1));
                for _ in 0..rounds {
                    let left = black_box_register(left);
                    for accumulator in &mut accumulators {
                        *accumulator = $fma(*accumulator, left, right);
                    }
                }
                for (index, accumulator) in accumulators.into_iter().enumerate() {
                    $store(at(index), accumulator);
                }
            }
        }
    };
}

/// Keeps a loop-invariant product from being reasoned about; the value stays in its register.
#[inline(always)]
fn black_box_register<T: Copy>(value: T) -> T {
    if cfg!(debug_assertions) { black_box(value) } else { value }
}

neon_kernel!(f32_neon, f32, float32x4_t, vld1q_f32, vst1q_f32, vfmaq_f32);
neon_kernel!(f64_neon, f64, float64x2_t, vld1q_f64, vst1q_f64, vfmaq_f64);
