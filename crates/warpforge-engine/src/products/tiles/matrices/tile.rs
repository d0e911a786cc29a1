//! A tile of sums and the loop that adds to it.
#![allow(unsafe_code)]

use super::super::finish::Target;
use super::unit::Configured;
use super::{COLUMNS, Numbers, ROWS};

/// Bytes of what comes next that are asked for in one step at most, of bf16.
pub(super) const AHEAD: usize = 256;

/// The same of strips that are read still later.
pub(super) const LATER: usize = 256;

/// What is read along the steps of a strip and a panel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reads {
    pub(super) panel: *const u8,
    /// What will be read later, and by how many bytes that goes on in a step of bf16.
    pub(super) next: *const u8,
    pub(super) ahead: usize,
    /// What will be read of strips still later, of bf16.
    pub(super) later: *const u8,
    /// Bytes from one part of a strip to the next, and from the last of a step to the first of the next one.
    pub(super) apart: usize,
    /// Bytes from one row of a part to the next; numbers in parts are always packed.
    pub(super) row: usize,
    /// Rows of two matrices that the tile will be combined with, and bytes from one to the next: two are asked for in each step of
    /// numbers in parts. Beside bf16 there is no time for them: more would be asked for than a core waits for at once.
    pub(super) soon: [(*const u8, isize); 2],
}

/// Some steps of a strip that lie one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Along {
    pub(super) strip: *const u8,
    pub(super) steps: usize,
}

/// What sums are before and after some steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
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
    /// Adds the products of some steps of a strip and a panel to the sums, which stay in the unit until it [settles](Configured::settle)
    /// or is given other sums. In between, when those before are where they belong, the function is called, with the number of
    /// steps since it was last.
    ///
    /// # Safety
    ///
    /// Strip and panel have so many steps, at least one, another place has room for the tile until the sums are there, and the
    /// function leaves the unit alone.
    #[inline(always)]
    pub(super) unsafe fn multiply(
        &mut self,
        unit: &mut Configured,
        numbers: Numbers,
        run: Run,
        left: impl IntoIterator<Item = Along>,
        mut reads: Reads,
        mut meanwhile: impl FnMut(usize),
    ) {
        let here = Target { start: self.0.as_mut_ptr().cast(), row: size_of::<[f32; COLUMNS]>() };
        let mut change = Some(Change { before: unit.left.take(), begin: run.begin, here });
        for Along { mut strip, steps: mut rest } in left {
            while rest > 0 {
                let now = rest.min(numbers.together());
                rest -= now;
                let change = change.take();
                // SAFETY: the caller's promise; the registers are used by nothing but these functions.
                unsafe {
                    match numbers {
                        Numbers::Halves => {
                            let mut more = now;
                            if let Some(change) = &change {
                                reads.begin_halves(&mut strip, change);
                                more -= 1;
                            }
                            if more > 0 {
                                reads.add_halves(&mut strip, more);
                            }
                        }
                        Numbers::Thirds => {
                            if let Some(change) = &change {
                                change.all();
                            }
                            reads.add_thirds(&mut strip, now);
                        }
                    }
                }
                meanwhile(now);
            }
        }
        unit.left = Some(run.elsewhere.unwrap_or(here));
    }
}

/// What happens to the registers of sums when others take their place. It is done register by register, between the first
/// products, because a register cannot be used anew before it is written, and there is time for that while others work.
#[cfg(target_arch = "x86_64")]
struct Change {
    /// Where the sums go that are there.
    before: Option<Target>,
    begin: Begin,
    here: Target,
}

/// The change of one register, of the first or second columns of the upper or lower rows.
#[cfg(target_arch = "x86_64")]
macro_rules! change {
    ($change:expr, $number:literal) => {
        let place = |Target { start, row }: Target| {
            start.wrapping_add($number / 2 * (ROWS / 2) * row + $number % 2 * 64)
        };
        if let Some(before) = $change.before {
            std::arch::asm!(
                concat!("tilestored [{at} + {row}*1], tmm", $number),
                at = in(reg) place(before),
                row = in(reg) before.row,
                options(nostack, preserves_flags),
            );
        }
        let from = match $change.begin {
            Begin::Zero => None,
            // The same row again and again.
            Begin::Columns(start) => Some(Target { start: start.cast_mut(), row: 0 }),
            Begin::Here => Some($change.here),
        };
        match from {
            Some(from) => std::arch::asm!(
                concat!("tileloadd tmm", $number, ", [{at} + {row}*1]"),
                at = in(reg) place(from),
                row = in(reg) from.row,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                options(nostack, readonly, preserves_flags),
            ),
            None => std::arch::asm!(
                concat!("tilezero tmm", $number),
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                options(nostack, nomem, preserves_flags),
            ),
        }
    };
}

#[cfg(target_arch = "x86_64")]
impl Change {
    /// Of all registers.
    ///
    /// # Safety
    ///
    /// The unit is configured, and there is room for the sums and what they begin with.
    #[inline(always)]
    unsafe fn all(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            change!(self, 0);
            change!(self, 1);
            change!(self, 2);
            change!(self, 3);
        }
    }
}

impl Target {
    /// Writes the sums that are in the unit.
    ///
    /// # Safety
    ///
    /// The unit is configured, and there is room for the sums.
    #[inline(always)]
    pub(super) unsafe fn store(self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's promise.
        unsafe {
            let Self { start, row } = self;
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
}

/// The lines of what comes next that are asked for in a step of bf16.
#[cfg(target_arch = "x86_64")]
macro_rules! next {
    (upper) => {
        "prefetcht1 [{next}]\nprefetcht1 [{next} + 64]\n"
    };
    (lower) => {
        "prefetcht1 [{next} + 128]\nprefetcht1 [{next} + 192]\n"
    };
}

#[cfg(target_arch = "x86_64")]
impl Reads {
    /// The first step of bf16, beside which sums take the place of others.
    ///
    /// # Safety
    ///
    /// The unit is configured, there is a step, and room for the sums and what they begin with.
    #[inline(always)]
    unsafe fn begin_halves(&mut self, strip: &mut *const u8, change: &Change) {
        let lower = strip.wrapping_add(ROWS / 2 * self.row);
        // SAFETY: the caller's promise; asking for memory that is not there does nothing.
        unsafe {
            change!(change, 0);
            std::arch::asm!(
                "tileloaddt1 tmm4, [{strip} + {row}*1]",
                "tileloadd tmm6, [{panel} + {line}*1]",
                next!(upper),
                "tdpbf16ps tmm0, tmm4, tmm6",
                strip = in(reg) *strip,
                row = in(reg) self.row,
                panel = in(reg) self.panel,
                line = in(reg) 64_usize,
                next = in(reg) self.next,
                out("tmm0") _, out("tmm4") _, out("tmm6") _,
                options(nostack, readonly),
            );
            change!(change, 1);
            std::arch::asm!(
                "tileloadd tmm7, [{panel} + {line}*1 + 1024]",
                next!(lower),
                "tdpbf16ps tmm1, tmm4, tmm7",
                panel = in(reg) self.panel,
                line = in(reg) 64_usize,
                next = in(reg) self.next,
                out("tmm1") _, out("tmm7") _,
                options(nostack, readonly),
            );
            change!(change, 2);
            std::arch::asm!(
                "tileloaddt1 tmm5, [{lower} + {row}*1]",
                "tdpbf16ps tmm2, tmm5, tmm6",
                lower = in(reg) lower,
                row = in(reg) self.row,
                out("tmm2") _, out("tmm5") _,
                options(nostack, readonly),
            );
            change!(change, 3);
            std::arch::asm!("tdpbf16ps tmm3, tmm5, tmm7", out("tmm3") _, options(nostack, nomem));
        }
        *strip = strip.wrapping_add(self.apart);
        self.panel = self.panel.wrapping_add(super::PART_BYTES);
        self.next = self.next.wrapping_add(self.ahead);
        self.later = self.later.wrapping_add(LATER);
    }

    /// Adds the products of some steps of bf16. The strip is read past the nearest cache, in which the panel stays.
    ///
    /// # Safety
    ///
    /// The unit is configured, and there are so many steps, at least one.
    #[inline(always)]
    unsafe fn add_halves(&mut self, strip: &mut *const u8, steps: usize) {
        let lower = strip.wrapping_add(ROWS / 2 * self.row);
        // SAFETY: the caller's promise; asking for memory that is not there does nothing.
        unsafe {
            std::arch::asm!(
                "3:",
                "tileloaddt1 tmm4, [{strip} + {row}*1]",
                "tileloadd tmm6, [{panel} + {line}*1]",
                next!(upper),
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tileloadd tmm7, [{panel} + {line}*1 + 1024]",
                next!(lower),
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
                "add {next}, {ahead}",
                "add {later}, 256",
                "dec {steps}",
                "jnz 3b",
                line = in(reg) 64_usize,
                row = in(reg) self.row,
                lower = inout(reg) lower => _,
                strip = inout(reg) *strip,
                panel = inout(reg) self.panel,
                next = inout(reg) self.next,
                ahead = in(reg) self.ahead,
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
        _: &mut Configured,
        _: Numbers,
        _: Run,
        _: impl IntoIterator<Item = Along>,
        _: Reads,
        _: impl FnMut(usize),
    ) {
        unreachable!("there is no matrix unit");
    }
}
