//! The register loops of x86-64 vector units, in assembly so that every build runs the same instructions.
//!
//! Each kernel loads its accumulators and two operands, runs `rounds` rounds of one multiply-accumulate per
//! accumulator, and stores the accumulators. The state is laid out as [`super::State`] documents: 64 bytes per
//! register, accumulators first, then the left and the right operand. There are more accumulators than latency
//! times throughput of any known core, so only the units limit the loop.
#![allow(unsafe_code)]

use std::arch::asm;

/// Accumulators of the kernels with 32 registers.
pub(super) const WIDE: usize = 24;
/// Accumulators of the kernels with 16 registers.
pub(super) const NARROW: usize = 12;

/// Defines a kernel of one instruction `accumulator += left * right`.
macro_rules! vector_kernel {
    ($name:ident, $what:literal, $move:literal $register:literal, $instruction:literal,
     $left:literal, $right:literal, [$($accumulator:literal)*], $count:literal) => {
        #[doc = $what]
        ///
        /// # Safety
        /// The CPU must have the instruction, `state` must hold the registers (64 bytes each) and `rounds` must not be 0.
        pub(super) unsafe fn $name(state: *mut u8, rounds: u64) {
            // SAFETY: reads and writes only the state, which the caller vouches for; all vector registers are
            // declared clobbered through the calling convention.
            unsafe {
                asm!(
                    $(concat!($move, " ", $register, $accumulator, ", [rsi + ", $accumulator, "*64]"),)*
                    concat!($move, " ", $register, $left, ", [rsi + ", $count, "*64]"),
                    concat!($move, " ", $register, $right, ", [rsi + (", $count, " + 1)*64]"),
                    ".p2align 6",
                    "2:",
                    $(concat!($instruction, " ", $register, $accumulator, ", ", $register, $left, ", ", $register, $right),)*
                    "dec rcx",
                    "jnz 2b",
                    $(concat!($move, " [rsi + ", $accumulator, "*64], ", $register, $accumulator),)*
                    "vzeroupper",
                    inout("rcx") rounds => _,
                    in("rsi") state,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
    };
}

/// Defines a kernel of a multiplication and an addition, for CPUs without a fused instruction.
macro_rules! two_step_kernel {
    ($name:ident, $what:literal, $multiply:literal, $add:literal, [$($accumulator:literal)*]) => {
        #[doc = $what]
        ///
        /// # Safety
        /// `state` must hold the registers (64 bytes each) and `rounds` must not be 0.
        pub(super) unsafe fn $name(state: *mut u8, rounds: u64) {
            // SAFETY: as in `vector_kernel`; SSE2 is part of x86-64.
            unsafe {
                asm!(
                    $(concat!("movaps xmm", $accumulator, ", [rsi + ", $accumulator, "*64]"),)*
                    "movaps xmm13, [rsi + 12*64]",
                    "movaps xmm14, [rsi + 13*64]",
                    ".p2align 6",
                    "2:",
                    $(
                        "movaps xmm15, xmm13",
                        concat!($multiply, " xmm15, xmm14"),
                        concat!($add, " xmm", $accumulator, ", xmm15"),
                    )*
                    "dec rcx",
                    "jnz 2b",
                    $(concat!("movaps [rsi + ", $accumulator, "*64], xmm", $accumulator),)*
                    inout("rcx") rounds => _,
                    in("rsi") state,
                    clobber_abi("sysv64"),
                    options(nostack),
                );
            }
        }
    };
}

vector_kernel!(f64_avx512, "Fused multiply-add on 8 doubles.", "vmovapd" "zmm", "vfmadd231pd", "30", "31",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22" "23"], "24");
vector_kernel!(f32_avx512, "Fused multiply-add on 16 floats.", "vmovaps" "zmm", "vfmadd231ps", "30", "31",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22" "23"], "24");
vector_kernel!(bf16_avx512, "Dot product of bf16 pairs into 16 floats.", "vmovaps" "zmm", "vdpbf16ps", "30", "31",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22" "23"], "24");
vector_kernel!(int8_avx512, "Dot product of byte quadruples into 16 integers.", "vmovaps" "zmm", "vpdpbusd", "30", "31",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15" "16" "17" "18" "19" "20" "21" "22" "23"], "24");
vector_kernel!(f64_avx2, "Fused multiply-add on 4 doubles.", "vmovapd" "ymm", "vfmadd231pd", "14", "15",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"], "12");
vector_kernel!(f32_avx2, "Fused multiply-add on 8 floats.", "vmovaps" "ymm", "vfmadd231ps", "14", "15",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"], "12");
vector_kernel!(int8_avx2, "Dot product of byte quadruples into 8 integers.", "vmovaps" "ymm", "{{vex}} vpdpbusd", "14", "15",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"], "12");
two_step_kernel!(f64_sse2, "Multiplication and addition on 2 doubles.", "mulpd", "addpd",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"]);
two_step_kernel!(f32_sse2, "Multiplication and addition on 4 floats.", "mulps", "addps",
    ["0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"]);
