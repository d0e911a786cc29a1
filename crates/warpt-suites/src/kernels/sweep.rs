//! Sweeps over a working set that stays in a cache: reads, writes and copies with the widest vectors, in assembly
//! so that nothing is optimized away and every build runs the same loop. A read adds up what it sees, so its
//! result can be checked.
#![allow(unsafe_code)]

/// Bytes a sweep handles per turn; working sets are multiples of it.
pub const TURN_BYTES: usize = 512;

/// A way to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// 64-byte vectors.
    Avx512,
    /// 32-byte vectors.
    Avx2,
    /// Plain loops.
    Portable,
}

impl Sweep {
    /// The ways this CPU has, widest first.
    pub fn available() -> Vec<Self> {
        let mut ways = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                ways.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                ways.push(Self::Avx2);
            }
        }
        ways.push(Self::Portable);
        ways
    }

    /// Bytes of one access.
    pub fn width_bytes(self) -> usize {
        match self {
            Self::Avx512 => 64,
            Self::Avx2 => 32,
            Self::Portable => 16,
        }
    }

    /// The name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Portable => "portable",
        }
    }

    /// Reads everything `passes` times and returns the wrapping sum of all words read.
    ///
    /// # Panics
    /// When the length is not a positive multiple of [`TURN_BYTES`].
    pub fn read(self, memory: &[u64], passes: u64) -> u64 {
        check_length(memory.len());
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the way is only available when the CPU has it; the length is a positive multiple of a turn.
            Self::Avx512 if passes > 0 => unsafe { x86::read_avx512(memory, passes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 if passes > 0 => unsafe { x86::read_avx2(memory, passes) },
            _ => (0..passes).fold(0, |sum, _| {
                let memory = std::hint::black_box(memory);
                memory.iter().fold(sum, |sum: u64, word| sum.wrapping_add(*word))
            }),
        }
    }

    /// Writes `value` everywhere, `passes` times.
    ///
    /// # Panics
    /// When the length is not a positive multiple of [`TURN_BYTES`].
    pub fn write(self, memory: &mut [u64], value: u64, passes: u64) {
        check_length(memory.len());
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `read`.
            Self::Avx512 if passes > 0 => unsafe { x86::write_avx512(memory, value, passes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `read`.
            Self::Avx2 if passes > 0 => unsafe { x86::write_avx2(memory, value, passes) },
            _ => (0..passes).for_each(|_| std::hint::black_box(&mut *memory).fill(value)),
        }
    }

    /// Copies `from` to `to`, `passes` times.
    ///
    /// # Panics
    /// When the lengths differ or are not a positive multiple of [`TURN_BYTES`].
    pub fn copy(self, from: &[u64], to: &mut [u64], passes: u64) {
        check_length(from.len());
        assert_eq!(from.len(), to.len(), "copies go between equal lengths");
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `read`, and both have the same length.
            Self::Avx512 if passes > 0 => unsafe { x86::copy_avx512(from, to, passes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `read`, and both have the same length.
            Self::Avx2 if passes > 0 => unsafe { x86::copy_avx2(from, to, passes) },
            _ => (0..passes).for_each(|_| std::hint::black_box(&mut *to).copy_from_slice(from)),
        }
    }
}

fn check_length(words: usize) {
    let bytes = words * size_of::<u64>();
    assert!(
        bytes > 0 && bytes.is_multiple_of(TURN_BYTES),
        "a sweep needs whole turns, got {bytes} bytes"
    );
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;

    /// The loop around a turn: `rsi` walks from the start to the end, `rcx` counts passes.
    macro_rules! passes {
        ([$($before:expr),*], [$($turn:expr),*], [$($after:expr),*], $($operands:tt)*) => {
            asm!(
                $($before,)*
                ".p2align 6",
                "2:",
                "xor esi, esi",
                ".p2align 6",
                "3:",
                $($turn,)*
                "add rsi, 512",
                "cmp rsi, rdx",
                "jb 3b",
                "dec rcx",
                "jnz 2b",
                $($after,)*
                "vzeroupper",
                out("rsi") _,
                $($operands)*
                clobber_abi("sysv64"),
                options(nostack),
            )
        };
    }

    /// Adds up all words, `passes` times.
    ///
    /// # Safety
    /// The CPU must have AVX-512, `passes` must not be 0, the length must be a positive multiple of 512 bytes.
    pub(super) unsafe fn read_avx512(memory: &[u64], passes: u64) -> u64 {
        let mut lanes = [0u64; 8];
        // SAFETY: reads stay within the slice; the sums are stored to `lanes`.
        unsafe {
            passes!(
                ["vpxorq zmm0, zmm0, zmm0", "vpxorq zmm1, zmm1, zmm1", "vpxorq zmm2, zmm2, zmm2",
                 "vpxorq zmm3, zmm3, zmm3", "vpxorq zmm4, zmm4, zmm4", "vpxorq zmm5, zmm5, zmm5",
                 "vpxorq zmm6, zmm6, zmm6", "vpxorq zmm7, zmm7, zmm7"],
                ["vpaddq zmm0, zmm0, [r8 + rsi]", "vpaddq zmm1, zmm1, [r8 + rsi + 64]",
                 "vpaddq zmm2, zmm2, [r8 + rsi + 128]", "vpaddq zmm3, zmm3, [r8 + rsi + 192]",
                 "vpaddq zmm4, zmm4, [r8 + rsi + 256]", "vpaddq zmm5, zmm5, [r8 + rsi + 320]",
                 "vpaddq zmm6, zmm6, [r8 + rsi + 384]", "vpaddq zmm7, zmm7, [r8 + rsi + 448]"],
                ["vpaddq zmm0, zmm0, zmm1", "vpaddq zmm2, zmm2, zmm3", "vpaddq zmm4, zmm4, zmm5",
                 "vpaddq zmm6, zmm6, zmm7", "vpaddq zmm0, zmm0, zmm2", "vpaddq zmm4, zmm4, zmm6",
                 "vpaddq zmm0, zmm0, zmm4", "vmovdqu64 [r9], zmm0"],
                in("r8") memory.as_ptr(),
                in("r9") lanes.as_mut_ptr(),
                in("rdx") size_of_val(memory),
                inout("rcx") passes => _,
            );
        }
        lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
    }

    /// Adds up all words, `passes` times.
    ///
    /// # Safety
    /// The CPU must have AVX2, `passes` must not be 0, the length must be a positive multiple of 512 bytes.
    pub(super) unsafe fn read_avx2(memory: &[u64], passes: u64) -> u64 {
        let mut lanes = [0u64; 4];
        // SAFETY: reads stay within the slice; the sums are stored to `lanes`.
        unsafe {
            passes!(
                ["vpxor ymm0, ymm0, ymm0", "vpxor ymm1, ymm1, ymm1", "vpxor ymm2, ymm2, ymm2",
                 "vpxor ymm3, ymm3, ymm3"],
                ["vpaddq ymm0, ymm0, [r8 + rsi]", "vpaddq ymm1, ymm1, [r8 + rsi + 32]",
                 "vpaddq ymm2, ymm2, [r8 + rsi + 64]", "vpaddq ymm3, ymm3, [r8 + rsi + 96]",
                 "vpaddq ymm0, ymm0, [r8 + rsi + 128]", "vpaddq ymm1, ymm1, [r8 + rsi + 160]",
                 "vpaddq ymm2, ymm2, [r8 + rsi + 192]", "vpaddq ymm3, ymm3, [r8 + rsi + 224]",
                 "vpaddq ymm0, ymm0, [r8 + rsi + 256]", "vpaddq ymm1, ymm1, [r8 + rsi + 288]",
                 "vpaddq ymm2, ymm2, [r8 + rsi + 320]", "vpaddq ymm3, ymm3, [r8 + rsi + 352]",
                 "vpaddq ymm0, ymm0, [r8 + rsi + 384]", "vpaddq ymm1, ymm1, [r8 + rsi + 416]",
                 "vpaddq ymm2, ymm2, [r8 + rsi + 448]", "vpaddq ymm3, ymm3, [r8 + rsi + 480]"],
                ["vpaddq ymm0, ymm0, ymm1", "vpaddq ymm2, ymm2, ymm3", "vpaddq ymm0, ymm0, ymm2",
                 "vmovdqu [r9], ymm0"],
                in("r8") memory.as_ptr(),
                in("r9") lanes.as_mut_ptr(),
                in("rdx") size_of_val(memory),
                inout("rcx") passes => _,
            );
        }
        lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
    }

    /// Writes one value everywhere, `passes` times.
    ///
    /// # Safety
    /// The CPU must have AVX-512, `passes` must not be 0, the length must be a positive multiple of 512 bytes.
    pub(super) unsafe fn write_avx512(memory: &mut [u64], value: u64, passes: u64) {
        // SAFETY: writes stay within the slice.
        unsafe {
            passes!(
                ["vpbroadcastq zmm0, r10"],
                ["vmovdqu64 [r8 + rsi], zmm0", "vmovdqu64 [r8 + rsi + 64], zmm0",
                 "vmovdqu64 [r8 + rsi + 128], zmm0", "vmovdqu64 [r8 + rsi + 192], zmm0",
                 "vmovdqu64 [r8 + rsi + 256], zmm0", "vmovdqu64 [r8 + rsi + 320], zmm0",
                 "vmovdqu64 [r8 + rsi + 384], zmm0", "vmovdqu64 [r8 + rsi + 448], zmm0"],
                [],
                in("r8") memory.as_mut_ptr(),
                in("r10") value,
                in("rdx") size_of_val(memory),
                inout("rcx") passes => _,
            );
        }
    }

    /// Writes one value everywhere, `passes` times.
    ///
    /// # Safety
    /// The CPU must have AVX2, `passes` must not be 0, the length must be a positive multiple of 512 bytes.
    pub(super) unsafe fn write_avx2(memory: &mut [u64], value: u64, passes: u64) {
        // SAFETY: writes stay within the slice.
        unsafe {
            passes!(
                ["vmovq xmm0, r10", "vpbroadcastq ymm0, xmm0"],
                [".irp at, 0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480",
                 "vmovdqu [r8 + rsi + \\at], ymm0", ".endr"],
                [],
                in("r8") memory.as_mut_ptr(),
                in("r10") value,
                in("rdx") size_of_val(memory),
                inout("rcx") passes => _,
            );
        }
    }

    /// Copies, `passes` times.
    ///
    /// # Safety
    /// The CPU must have AVX-512, `passes` must not be 0, both lengths must be the same positive multiple of 512 bytes.
    pub(super) unsafe fn copy_avx512(from: &[u64], to: &mut [u64], passes: u64) {
        // SAFETY: accesses stay within the slices.
        unsafe {
            passes!(
                [],
                [".irp at, 0, 64, 128, 192, 256, 320, 384, 448", "vmovdqu64 zmm0, [r8 + rsi + \\at]",
                 "vmovdqu64 [r9 + rsi + \\at], zmm0", ".endr"],
                [],
                in("r8") from.as_ptr(),
                in("r9") to.as_mut_ptr(),
                in("rdx") size_of_val(from),
                inout("rcx") passes => _,
            );
        }
    }

    /// Copies, `passes` times.
    ///
    /// # Safety
    /// The CPU must have AVX2, `passes` must not be 0, both lengths must be the same positive multiple of 512 bytes.
    pub(super) unsafe fn copy_avx2(from: &[u64], to: &mut [u64], passes: u64) {
        // SAFETY: accesses stay within the slices.
        unsafe {
            passes!(
                [],
                [".irp at, 0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480",
                 "vmovdqu ymm0, [r8 + rsi + \\at]", "vmovdqu [r9 + rsi + \\at], ymm0", ".endr"],
                [],
                in("r8") from.as_ptr(),
                in("r9") to.as_mut_ptr(),
                in("rdx") size_of_val(from),
                inout("rcx") passes => _,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<u64> {
        let mut random = fastrand::Rng::with_seed(2);
        (0..count).map(|_| random.u64(..)).collect()
    }

    #[test]
    fn every_way_reads_writes_and_copies_everything() {
        for turns in [1, 2, 5, 33] {
            let from = words(turns * TURN_BYTES / 8);
            for way in Sweep::available() {
                for passes in [0, 1, 3] {
                    let label = format!("{way:?} {turns} turns {passes} passes");
                    let sum = from.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
                    assert_eq!(way.read(&from, passes), sum.wrapping_mul(passes), "{label}");
                    let mut to = vec![7; from.len()];
                    way.copy(&from, &mut to, passes);
                    assert!(
                        if passes > 0 { to == from } else { to.iter().all(|word| *word == 7) },
                        "{label}"
                    );
                    way.write(&mut to, 11, passes);
                    assert!(passes == 0 || to.iter().all(|word| *word == 11), "{label}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "whole turns")]
    fn a_part_of_a_turn_is_refused() {
        Sweep::Portable.read(&[0; 7], 1);
    }
}
