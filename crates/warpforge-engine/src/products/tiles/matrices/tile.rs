//! A tile of sums and the loop that adds to it.
#![allow(unsafe_code)]

use super::unit::Configured;
use super::{COLUMNS, Numbers, ROWS};

/// Bytes of what comes next that are asked for in one step, of bf16.
pub(super) const AHEAD: usize = 256;

/// The same of strips that are read still later.
pub(super) const LATER: usize = 256;

/// What is read along the steps of a strip and a panel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reads {
    pub(super) strip: *const u8,
    pub(super) panel: *const u8,
    /// What will be read later.
    pub(super) next: *const u8,
    /// What will be read of strips still later, of bf16.
    pub(super) later: *const u8,
    /// Bytes from one part of the strip to the next, and from the last of a step to the first of the next one.
    pub(super) apart: usize,
    /// Bytes from one row of a part to the next; numbers in parts are always packed.
    pub(super) row: usize,
    /// Rows of two matrices that the tile will be combined with, and bytes from one to the next: two are asked for in each step of
    /// numbers in parts. Beside bf16 there is no time for them: more would be asked for than a core waits for at once.
    pub(super) soon: [(*const u8, isize); 2],
}

/// Some steps of a strip and a panel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) steps: usize,
    pub(super) begin: Begin,
    /// Where the sums go then, if they do not stay here.
    pub(super) elsewhere: Option<Target>,
}

/// What sums begin with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Begin {
    Zero,
    /// A number for each column.
    Columns(*const u8),
    /// What they are already.
    Here,
}

impl Begin {
    /// With a number for each column, if there are some.
    #[inline(always)]
    pub(super) fn with(columns: Option<*const u8>) -> Self {
        columns.map_or(Self::Zero, Self::Columns)
    }
}

/// Where sums go: the first number, and bytes from one row to the next.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Target {
    pub(in super::super) start: *mut u8,
    pub(in super::super) row: usize,
}

/// The sums of a tile, row by row.
#[repr(C, align(64))]
pub(super) struct Tile([[f32; COLUMNS]; ROWS]);

impl Tile {
    pub(super) const fn new() -> Self {
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
}

#[cfg(target_arch = "x86_64")]
impl Tile {
    /// Adds the products of some steps of a strip and a panel to the sums. In between the function is called, with the number of
    /// steps since it was last.
    ///
    /// # Safety
    ///
    /// Strip and panel have so many steps, another place has room for the tile, and the function leaves the unit alone.
    #[inline(always)]
    pub(super) unsafe fn multiply(
        &mut self,
        _: &Configured,
        numbers: Numbers,
        run: Run,
        mut reads: Reads,
        mut meanwhile: impl FnMut(usize),
    ) {
        let here = Target { start: self.0.as_mut_ptr().cast(), row: size_of::<[f32; COLUMNS]>() };
        // SAFETY: the caller's promise; the registers are used by nothing but these functions.
        unsafe {
            match run.begin {
                Begin::Zero => zero(),
                // The same row again and again.
                Begin::Columns(start) => load(Target { start: start.cast_mut(), row: 0 }),
                Begin::Here => load(here),
            }
            let mut rest = run.steps;
            while rest > 0 {
                let now = rest.min(numbers.together());
                match numbers {
                    Numbers::Halves => reads.add_halves(now),
                    Numbers::Thirds => reads.add_thirds(now),
                }
                meanwhile(now);
                rest -= now;
            }
            store(run.elsewhere.unwrap_or(here));
        }
    }
}

/// The sums become 0.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn zero() {
    // SAFETY: the caller's promise: the unit is configured.
    unsafe {
        std::arch::asm!(
            "tilezero tmm0", "tilezero tmm1", "tilezero tmm2", "tilezero tmm3",
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            options(nostack, nomem, preserves_flags),
        );
    }
}

/// Reads the sums: two times two blocks of 16 x 16.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load(Target { start, row }: Target) {
    // SAFETY: the caller's promise: the unit is configured, and the sums are there.
    unsafe {
        std::arch::asm!(
            "tileloadd tmm0, [{upper} + {row}*1]",
            "tileloadd tmm1, [{upper} + {row}*1 + 64]",
            "tileloadd tmm2, [{lower} + {row}*1]",
            "tileloadd tmm3, [{lower} + {row}*1 + 64]",
            upper = in(reg) start,
            lower = in(reg) start.wrapping_add(ROWS / 2 * row),
            row = in(reg) row,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            options(nostack, readonly, preserves_flags),
        );
    }
}

/// Writes the sums.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn store(Target { start, row }: Target) {
    // SAFETY: the caller's promise: the unit is configured, and there is room for the sums.
    unsafe {
        std::arch::asm!(
            "tilestored [{upper} + {row}*1], tmm0",
            "tilestored [{upper} + {row}*1 + 64], tmm1",
            "tilestored [{lower} + {row}*1], tmm2",
            "tilestored [{lower} + {row}*1 + 64], tmm3",
            upper = in(reg) start,
            lower = in(reg) start.wrapping_add(ROWS / 2 * row),
            row = in(reg) row,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(target_arch = "x86_64")]
impl Reads {
    /// Adds the products of some steps of bf16. The strip is read past the nearest cache, in which the panel stays.
    ///
    /// # Safety
    ///
    /// The unit is configured, and there are so many steps, at least one.
    #[inline(always)]
    unsafe fn add_halves(&mut self, steps: usize) {
        let lower = self.strip.wrapping_add(ROWS / 2 * self.row);
        // SAFETY: the caller's promise; asking for memory that is not there does nothing.
        unsafe {
            std::arch::asm!(
                "3:",
                "tileloaddt1 tmm4, [{strip} + {row}*1]",
                "tileloadd tmm6, [{panel} + {line}*1]",
                "prefetcht1 [{next}]",
                "prefetcht1 [{next} + 64]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{panel} + {line}*1 + 1024]",
                "prefetcht1 [{next} + 128]",
                "prefetcht1 [{next} + 192]",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tileloaddt1 tmm5, [{lower} + {row}*1]",
                "prefetcht1 [{later}]",
                "prefetcht1 [{later} + 128]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "prefetcht1 [{later} + 64]",
                "prefetcht1 [{later} + 192]",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {strip}, {apart}",
                "add {lower}, {apart}",
                "add {panel}, 2048",
                "add {next}, 256",
                "add {later}, 256",
                "dec {steps}",
                "jnz 3b",
                line = in(reg) 64_usize,
                row = in(reg) self.row,
                lower = inout(reg) lower => _,
                strip = inout(reg) self.strip,
                panel = inout(reg) self.panel,
                next = inout(reg) self.next,
                apart = in(reg) self.apart,
                later = inout(reg) self.later,
                steps = inout(reg) steps => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, readonly),
            );
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Tile {
    pub(super) unsafe fn multiply(
        &mut self,
        _: &Configured,
        _: Numbers,
        _: Run,
        _: Reads,
        _: impl FnMut(usize),
    ) {
        unreachable!("there is no matrix unit");
    }
}
