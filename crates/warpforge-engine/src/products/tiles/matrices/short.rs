//! Products of two steps whose sums are the result: attention's scores, of heads of 64 numbers. A panel is four registers of the
//! unit and stays there while rows pass by, so that half as much is read for each multiplication.
#![allow(unsafe_code)]

use std::ops::Range;

use super::super::finish::{FinishAt, Place, Target};
use super::super::multiplier::{COLUMNS, Part};
use super::unit::Configured;
use super::{PART_BYTES, ROWS, RowsOf};

/// Steps that a panel of four registers has.
pub(super) const STEPS: usize = 2;

/// Computes the result for some strips and panels, both whole ones, and panels from `first` on packed one after the other.
///
/// # Safety
///
/// As for [`super::multiply`]; the product has two steps of bf16, and [`FinishAt::straight`] says where each tile goes.
pub(super) unsafe fn multiply(
    part: &Part<'_>,
    at: &FinishAt,
    rows_of: &RowsOf,
    first: *const u8,
    strips: &Range<usize>,
    panels: &Range<usize>,
) {
    let unit = Configured::new();
    for panel in panels.clone() {
        let panel_at = first.wrapping_add((panel - panels.start) * STEPS * PART_BYTES);
        // SAFETY: the caller's promise: the panel is there.
        unsafe { hold(&unit, panel_at) };
        for strip in strips.clone() {
            let row = part.rows.0 + strip * ROWS;
            let place = Place { row, column: panel * COLUMNS, columns: COLUMNS };
            let Some(target) = at.straight(&place, part.out) else {
                unreachable!("every tile is whole, and nothing follows")
            };
            let left = rows_of.at(0, STEPS, strip);
            // SAFETY: the caller's promise: the strip is there, and the tile lies within the result.
            unsafe { pass(&unit, left, rows_of.row, rows_of.apart, target) };
        }
    }
}

/// A panel goes to the last four registers: its first step, then its second.
#[inline(always)]
unsafe fn hold(_: &Configured, panel: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promise: the unit is configured, and the panel is there.
    unsafe {
        std::arch::asm!(
            "tileloadd tmm4, [{panel} + {line}*1]",
            "tileloadd tmm5, [{panel} + {line}*1 + 1024]",
            "tileloadd tmm6, [{panel} + {line}*1 + 2048]",
            "tileloadd tmm7, [{panel} + {line}*1 + 3072]",
            panel = in(reg) panel,
            line = in(reg) 64_usize,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly, preserves_flags),
        );
    }
}

/// A strip, 16 rows at a time, times what is held.
#[inline(always)]
unsafe fn pass(_: &Configured, strip: *const u8, row: usize, apart: usize, target: Target) {
    #[cfg(target_arch = "x86_64")]
    for half in [0, ROWS / 2] {
        // SAFETY: the caller's promise: the unit is configured and holds a panel, the rows are there, and so is room for the sums.
        unsafe {
            std::arch::asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tileloadd tmm2, [{first} + {row}*1]",
                "tdpbf16ps tmm0, tmm2, tmm4",
                "tdpbf16ps tmm1, tmm2, tmm5",
                "tileloadd tmm3, [{second} + {row}*1]",
                "tdpbf16ps tmm0, tmm3, tmm6",
                "tdpbf16ps tmm1, tmm3, tmm7",
                "tilestored [{out} + {out_row}*1], tmm0",
                "tilestored [{out} + {out_row}*1 + 64], tmm1",
                first = in(reg) strip.wrapping_add(half * row),
                second = in(reg) strip.wrapping_add(half * row + apart),
                row = in(reg) row,
                out = in(reg) target.start.wrapping_add(half * target.row),
                out_row = in(reg) target.row,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                options(nostack, preserves_flags),
            );
        }
    }
}
