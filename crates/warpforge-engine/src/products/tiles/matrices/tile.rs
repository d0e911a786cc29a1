//! A tile of sums and the loop that adds to it.
#![allow(unsafe_code)]

use super::super::finish::Soon;
use super::unit::Configured;
use super::{COLUMNS, ROWS};

/// Bytes of what comes next that are asked for in one step.
pub(super) const AHEAD: usize = 256;

/// The sums of a tile, row by row.
#[repr(C, align(64))]
pub(super) struct Tile([[f32; COLUMNS]; ROWS]);

impl Tile {
    pub(super) fn new() -> Self {
        Self([[0.0; COLUMNS]; ROWS])
    }

    pub(super) fn rows(&self) -> &[[f32; COLUMNS]; ROWS] {
        &self.0
    }

    /// Its first rows.
    #[inline(always)]
    pub(super) fn rows_mut(&mut self, count: usize) -> &mut [[f32; COLUMNS]] {
        &mut self.0[..count]
    }

    /// Adds the products of so many steps of a strip and a panel of bf16 to the sums, or to 0 where they begin with them. The third
    /// pointer leads to what will be read later; two rows of what the tile is combined with are asked for in each step. Steps of
    /// the strip lie `apart` bytes from one another.
    ///
    /// # Safety
    ///
    /// Strip and panel have so many steps.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) unsafe fn multiply(
        &mut self,
        _: &Configured,
        steps: usize,
        [left, right, next]: [*const u8; 3],
        apart: usize,
        soon: &Soon,
        begin: bool,
    ) {
        let [(first, first_row), (second, second_row)] = soon.two(self.0.as_ptr().cast());
        debug_assert!(steps > 0, "a product of no depth");
        // SAFETY: the unit is configured; a tile has two times two blocks of 16 x 16 sums. The strip is read past the
        // nearest cache, in which the panel stays; asking for memory that is not there does nothing.
        unsafe {
            std::arch::asm!(
                "test {begin:e}, {begin:e}",
                "jnz 2f",
                "tileloadd tmm0, [{sums} + {line}*2]",
                "tileloadd tmm1, [{sums} + {line}*2 + 64]",
                "tileloadd tmm2, [{sums} + {line}*2 + 2048]",
                "tileloadd tmm3, [{sums} + {line}*2 + 2112]",
                "jmp 3f",
                "2:",
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                "3:",
                "tileloaddt1 tmm4, [{left} + {line}*1]",
                "tileloadd tmm6, [{right} + {line}*1]",
                "prefetcht1 [{next}]",
                "prefetcht1 [{next} + 64]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{right} + {line}*1 + 1024]",
                "prefetcht1 [{next} + 128]",
                "prefetcht1 [{next} + 192]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloaddt1 tmm5, [{left} + {line}*1 + 1024]",
                "prefetcht0 [{first}]",
                "prefetcht0 [{first} + {first_row}]",
                "lea {first}, [{first} + {first_row}*2]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "prefetcht0 [{second}]",
                "prefetcht0 [{second} + {second_row}]",
                "lea {second}, [{second} + {second_row}*2]",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {left}, {apart}",
                "add {right}, 2048",
                "add {next}, 256",
                "dec {steps}",
                "jnz 3b",
                "tilestored [{sums} + {line}*2], tmm0",
                "tilestored [{sums} + {line}*2 + 64], tmm1",
                "tilestored [{sums} + {line}*2 + 2048], tmm2",
                "tilestored [{sums} + {line}*2 + 2112], tmm3",
                begin = in(reg) u32::from(begin),
                sums = in(reg) self.0.as_mut_ptr(),
                line = in(reg) 64_usize,
                left = inout(reg) left => _,
                right = inout(reg) right => _,
                next = inout(reg) next => _,
                apart = in(reg) apart,
                first = inout(reg) first => _,
                first_row = in(reg) first_row,
                second = inout(reg) second => _,
                second_row = in(reg) second_row,
                steps = inout(reg) steps => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) unsafe fn multiply(
        &mut self,
        _: &Configured,
        _: usize,
        _: [*const u8; 3],
        _: usize,
        _: &Soon,
        _: bool,
    ) {
        unreachable!("there is no matrix unit");
    }
}
