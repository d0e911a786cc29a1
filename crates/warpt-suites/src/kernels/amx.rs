//! The matrix unit of Intel CPUs (AMX), by assembly: tiles of 16 rows of 64 bytes, a product of two tiles added
//! to a third in one instruction. Linux gives the tile registers to a process that asks for them; a kernel runs
//! only after [`permission`] was granted.
#![allow(unsafe_code)]

/// Accumulator tiles of the register loops: with 16 cycles per product and a latency of 52, four would do.
pub const ACCUMULATORS: usize = 6;
/// Bytes of a tile.
pub const TILE_BYTES: usize = 1024;

/// A part of the matrix unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Products of bf16.
    Bf16,
    /// Products of 8-bit integers.
    Int8,
}

#[cfg(target_arch = "x86_64")]
pub use x86::{bf16_rounds, int8_rounds, permission};

/// Whether this process may use the tiles, or why not.
#[cfg(not(target_arch = "x86_64"))]
pub fn permission(_part: Part) -> Result<(), String> {
    Err("AMX is an extension of x86-64".into())
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Part;
    use std::arch::asm;
    use std::arch::x86_64::__cpuid_count;

    /// `arch_prctl` operation that asks for an extended register state.
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    /// The tile data state.
    const XFEATURE_XTILEDATA: libc::c_long = 18;

    /// Whether this process may use the tiles, or why not. Asking twice is harmless.
    pub fn permission(part: Part) -> Result<(), String> {
        let offered = if __cpuid_count(0, 0).eax >= 7 { __cpuid_count(7, 0).edx } else { 0 };
        let (bit, flag) = match part {
            Part::Bf16 => (22, "amx_bf16"),
            Part::Int8 => (25, "amx_int8"),
        };
        for (bit, flag) in [(24, "amx_tile"), (bit, flag)] {
            if offered >> bit & 1 == 0 {
                return Err(format!("this CPU (or its hypervisor) does not offer {flag}"));
            }
        }
        // SAFETY: this arch_prctl operation takes a number and touches no memory of the process.
        let answer =
            unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) };
        match answer {
            0 => Ok(()),
            _ => Err(format!(
                "the kernel does not grant the tile registers: arch_prctl(ARCH_REQ_XCOMP_PERM): {}",
                std::io::Error::last_os_error()
            )),
        }
    }

    /// What `ldtilecfg` reads: palette 1, eight tiles of 16 rows of 64 bytes.
    #[repr(C, align(64))]
    struct TileConfig {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    static CONFIG: TileConfig = TileConfig {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
    };

    /// Defines a register loop of one tile product per accumulator and round.
    macro_rules! tile_kernel {
        ($name:ident, $what:literal, $instruction:literal) => {
            #[doc = $what]
            ///
            /// # Safety
            /// [`permission`] must have been granted, `state` must hold eight tiles (six accumulators, the left
            /// and the right operand) and `rounds` must not be 0.
            pub unsafe fn $name(state: *mut u8, rounds: u64) {
                // SAFETY: reads the configuration, reads and writes the state the caller vouches for; the tile
                // registers belong to nobody else and are released at the end.
                unsafe {
                    asm!(
                        "ldtilecfg [rdi]",
                        "tileloadd tmm0, [rsi + rdx*1]",
                        "tileloadd tmm1, [rsi + rdx*1 + 1024]",
                        "tileloadd tmm2, [rsi + rdx*1 + 2048]",
                        "tileloadd tmm3, [rsi + rdx*1 + 3072]",
                        "tileloadd tmm4, [rsi + rdx*1 + 4096]",
                        "tileloadd tmm5, [rsi + rdx*1 + 5120]",
                        "tileloadd tmm6, [rsi + rdx*1 + 6144]",
                        "tileloadd tmm7, [rsi + rdx*1 + 7168]",
                        ".p2align 6",
                        "2:",
                        concat!($instruction, " tmm0, tmm6, tmm7"),
                        concat!($instruction, " tmm1, tmm6, tmm7"),
                        concat!($instruction, " tmm2, tmm6, tmm7"),
                        concat!($instruction, " tmm3, tmm6, tmm7"),
                        concat!($instruction, " tmm4, tmm6, tmm7"),
                        concat!($instruction, " tmm5, tmm6, tmm7"),
                        "dec rcx",
                        "jnz 2b",
                        "tilestored [rsi + rdx*1], tmm0",
                        "tilestored [rsi + rdx*1 + 1024], tmm1",
                        "tilestored [rsi + rdx*1 + 2048], tmm2",
                        "tilestored [rsi + rdx*1 + 3072], tmm3",
                        "tilestored [rsi + rdx*1 + 4096], tmm4",
                        "tilestored [rsi + rdx*1 + 5120], tmm5",
                        "tilerelease",
                        in("rdi") &raw const CONFIG,
                        in("rsi") state,
                        in("rdx") 64usize,
                        inout("rcx") rounds => _,
                        clobber_abi("sysv64"),
                        options(nostack),
                    );
                }
            }
        };
    }

    tile_kernel!(bf16_rounds, "Products of bf16 tiles, 16x32 by 32x16, into floats.", "tdpbf16ps");
    tile_kernel!(
        int8_rounds,
        "Products of signed byte tiles, 16x64 by 64x16, into integers.",
        "tdpbssd"
    );
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::kernels::buffer::Buffer;
    use crate::kernels::peak::{bf16_from_f32, bf16_to_f32};

    #[test]
    fn random_bf16_tiles_agree_with_a_scalar_product() {
        if permission(Part::Bf16).is_err() {
            return;
        }
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20 {
            let mut memory = Buffer::new((ACCUMULATORS + 2) * TILE_BYTES).unwrap();
            let left: Vec<u16> = (0..512).map(|_| bf16_from_f32(random.f32() - 0.5)).collect();
            let right: Vec<u16> = (0..512).map(|_| bf16_from_f32(random.f32() - 0.5)).collect();
            memory.as_mut_slice::<u16>()[6 * 512..7 * 512].copy_from_slice(&left);
            memory.as_mut_slice::<u16>()[7 * 512..8 * 512].copy_from_slice(&right);
            // SAFETY: permission was granted and the memory holds eight tiles.
            unsafe { bf16_rounds(memory.as_mut_slice::<u8>().as_mut_ptr(), 1) };
            for tile in 0..ACCUMULATORS {
                for row in 0..16 {
                    for column in 0..16 {
                        let term = |k: usize| {
                            let left = f64::from(bf16_to_f32(left[row * 32 + k]));
                            left * f64::from(bf16_to_f32(right[(k / 2) * 32 + column * 2 + k % 2]))
                        };
                        let expected: f64 = (0..32).map(term).sum();
                        let scale: f64 = (0..32).map(|k| term(k).abs()).sum();
                        let found =
                            f64::from(memory.as_slice::<f32>()[tile * 256 + row * 16 + column]);
                        let bound = 33.0 * f64::from(f32::EPSILON) * scale;
                        assert!((found - expected).abs() <= bound, "{found} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn random_byte_tiles_agree_with_a_scalar_product() {
        if permission(Part::Int8).is_err() {
            return;
        }
        let mut random = fastrand::Rng::with_seed(11);
        for rounds in 1..=3 {
            let mut memory = Buffer::new((ACCUMULATORS + 2) * TILE_BYTES).unwrap();
            let operands: Vec<i8> = (0..2048).map(|_| random.i8(..)).collect();
            memory.as_mut_slice::<i8>()[6 * 1024..].copy_from_slice(&operands);
            // SAFETY: permission was granted and the memory holds eight tiles.
            unsafe { int8_rounds(memory.as_mut_slice::<u8>().as_mut_ptr(), rounds) };
            for (row, column) in (0..16).flat_map(|row| (0..16).map(move |column| (row, column))) {
                let expected: i32 = (0..64)
                    .map(|k| {
                        i32::from(operands[row * 64 + k])
                            * i32::from(operands[1024 + (k / 4) * 64 + column * 4 + k % 4])
                    })
                    .sum();
                let found = memory.as_slice::<i32>()[row * 16 + column];
                assert_eq!(found, expected * rounds as i32);
            }
        }
    }
}
