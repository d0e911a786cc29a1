//! Tiles of 32 x 32 sums in the processor's matrix unit: four of its registers hold sums, two rows and two columns.
//!
//! It multiplies bf16. An f32 is the sum of three of them, exactly, and a product of two such numbers that of nine, of which
//! the six largest are computed: what is left out is as small as the rounding of a product in f32. The unit is faster than
//! vectors of f32 by so much that this is worth it.
//!
//! The unit reads as fast as the first-level cache delivers, so the depth is cut into slices of which a panel's stays there
//! while all strips of a block pass by; in between sums are kept in room that the second-level cache holds. Several slices
//! are a stretch: as much of the strips as that cache holds beside the sums.
//!
//! What always holds: an element's terms are added in the order of the depth, whatever the number of threads.
#![allow(unsafe_code)]

#[cfg(all(feature = "emulated", target_arch = "x86_64", target_os = "linux"))]
mod emulated;
mod exact;
mod later;
mod pack;
mod short;
mod thirds;
mod tile;
mod unit;
mod windows;

use std::ops::Range;

pub(super) use self::unit::available;
pub(crate) use self::windows::{Image, Operands as WindowOperands, Windows};

use self::later::Later;
use self::tile::{Along, Begin, Reads, Run, Tile};
use super::finish::{Place, Soon};
use super::multiplier::{COLUMNS, Multiplier, Panels, Part, Strips};
use crate::observe::Phase;
use crate::plan::Buffer;
use crate::products::Product;

/// Rows of a tile.
pub(super) const ROWS: usize = 32;

/// Depth of one step of the unit.
pub(super) const STEP: usize = 32;
/// Bytes of a step of a strip, and of a panel, in bf16: two registers.
const PART_BYTES: usize = 2048;

/// What the numbers of the operands are to the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// bf16, as they are.
    Halves,
    /// f32, each the sum of three bf16.
    Thirds,
}

impl Numbers {
    /// Bytes of a step of a strip, and of a panel.
    const fn step_bytes(self) -> usize {
        match self {
            Self::Halves => PART_BYTES,
            Self::Thirds => thirds::PARTS * PART_BYTES,
        }
    }

    /// Steps of a slice: of halves a panel's slice is two thirds of a first-level cache; thirds are read more slowly than the
    /// second-level cache delivers them.
    const fn slice(self) -> usize {
        16
    }

    /// Steps of a stretch: all, where strips of such depth stay in a second-level cache; else there is room for the next one's,
    /// which come while this one's are worked on.
    const fn stretch(self, depth: usize) -> usize {
        match self {
            Self::Halves if steps(depth) <= 2 * self.slice() => 2 * self.slice(),
            _ => self.slice(),
        }
    }

    /// Rows of a block: with a stretch of the depth a third of a second-level cache.
    pub(super) const fn block(self) -> usize {
        match self {
            Self::Halves => 384,
            Self::Thirds => 192,
        }
    }

    /// Panels of a task at most: what they read of a stretch is then fetched once for all of them.
    pub(super) const fn group(self) -> usize {
        8
    }

    /// Steps between which something else is done.
    const fn together(self) -> usize {
        match self {
            Self::Halves => 2,
            Self::Thirds => 1,
        }
    }

    /// Steps of a tile, of such depth, in the stretch in which its sums are finished.
    fn last_steps(self, depth: usize) -> usize {
        match steps(depth) % self.stretch(depth) {
            0 => self.stretch(depth),
            rest => rest,
        }
    }

    /// Parts of a number.
    const fn parts(self) -> usize {
        self.step_bytes() / PART_BYTES
    }

    /// Bytes of what comes next that are asked for in one step, while so many strips pass by: of bf16 as much as makes a step of a
    /// panel. A core waits for few lines at once, and more would be asked for in the first of its time than in the rest.
    fn ahead(self, strips: usize) -> usize {
        match self {
            Self::Halves => PART_BYTES.div_ceil(strips.max(1)).min(tile::AHEAD),
            Self::Thirds => thirds::AHEAD,
        }
    }

    /// How often the strips of such depth pass by.
    pub(super) fn stretches(self, depth: usize) -> usize {
        steps(depth).div_ceil(self.stretch(depth))
    }

    /// Bytes of a strip or a panel of such depth.
    pub(super) fn packed_bytes(self, depth: usize) -> usize {
        steps(depth) * self.step_bytes()
    }

    /// Panels whose sums are kept at a time.
    fn kept_panels(self, depth: usize, panels: usize) -> usize {
        match steps(depth) {
            short if short <= self.slice() => 0,
            one if one <= self.stretch(depth) => 1,
            _ => panels.min(self.group()),
        }
    }

    /// Bytes of a stretch of the panels that are worked on at a time.
    pub(super) fn stretch_bytes(self, depth: usize) -> usize {
        let panels = self.kept_panels(depth, self.group()).max(1);
        panels * steps(depth).min(self.stretch(depth)) * self.step_bytes()
    }

    /// Bytes of sums that are not finished.
    pub(super) fn sum_bytes(self, depth: usize, rows: usize, panels: usize) -> usize {
        self.kept_panels(depth, panels) * rows.div_ceil(ROWS) * size_of::<Tile>()
    }

    /// Where a strip's slice, from some step on, begins among the packed bytes.
    #[inline(always)]
    fn strip_start(self, slice: usize, length: usize, strip: usize, strips: usize) -> usize {
        (slice * strips + strip * length) * self.step_bytes()
    }
}

/// How strips of bf16 lie: slice by slice, in a slice strip by strip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    strips: usize,
    steps: usize,
}

impl Layout {
    pub(super) fn new(rows: usize, depth: usize) -> Self {
        Self { strips: rows.div_ceil(ROWS), steps: steps(depth) }
    }

    /// Where a row's numbers from some place of the depth on, the first of a step, begin, in bytes.
    #[inline(always)]
    pub(super) fn place(&self, row: usize, along: usize) -> usize {
        let numbers = Numbers::Halves;
        let step = along / STEP;
        let slice = step - step % numbers.slice();
        let length = numbers.slice().min(self.steps - slice);
        numbers.strip_start(slice, length, row / ROWS, self.strips)
            + (step - slice) * PART_BYTES
            + row % ROWS * (PART_BYTES / ROWS)
    }
}

pub(super) const fn steps(depth: usize) -> usize {
    depth.div_ceil(STEP)
}

/// Packs some steps of a panel of a matrix.
///
/// # Safety
///
/// `right` leads to the whole right operand, `to`, at the beginning of a cache line, to room for these steps, and the machine
/// has 512-bit vectors.
pub(super) unsafe fn pack_panel(
    multiplier: &Multiplier,
    numbers: Numbers,
    right: *const u8,
    number: usize,
    panel: usize,
    taken: &Range<usize>,
    to: *mut u8,
) {
    let Product { columns, depth, dtypes, .. } = &multiplier.product;
    let [_, begin, _] = multiplier.product.starts(number);
    let (first, along) = (panel * COLUMNS, taken.start * STEP);
    let start = begin + first as isize * columns.rhs + along as isize * depth.rhs;
    let lines = pack::Lines {
        from: right.wrapping_offset(start * dtypes[1].bytes() as isize),
        across: columns.rhs,
        along: depth.rhs,
        count: COLUMNS.min(columns.size - first),
        length: (taken.len() * STEP).min(depth.size - along),
    };
    // SAFETY: the caller's promise; there is room for the lines, filled up to whole steps.
    unsafe {
        match numbers {
            Numbers::Halves => lines.pack_columns(to.cast()),
            Numbers::Thirds => lines.split_columns(to.cast()),
        }
    }
}

/// Packs one of the strips that some rows are packed as.
///
/// # Safety
///
/// As for [`Multiplier::pack_strip`], and the machine has 512-bit vectors.
pub(super) unsafe fn pack_strip(
    multiplier: &Multiplier,
    numbers: Numbers,
    left: *const u8,
    number: usize,
    (begin, end): (usize, usize),
    strip: usize,
    to: *mut u8,
) {
    let Product { rows, depth, dtypes, .. } = &multiplier.product;
    let [start, ..] = multiplier.product.starts(number);
    let first = begin + strip * ROWS;
    let strips = (end - begin).div_ceil(ROWS);
    let all = steps(depth.size);
    for slice in (0..all).step_by(numbers.slice()) {
        let length = numbers.slice().min(all - slice);
        let along = (slice * STEP) as isize * depth.lhs;
        let start = start + first as isize * rows.lhs + along;
        let lines = pack::Lines {
            from: left.wrapping_offset(start * dtypes[0].bytes() as isize),
            across: rows.lhs,
            along: depth.lhs,
            count: ROWS.min(end - first),
            length: (length * STEP).min(depth.size - slice * STEP),
        };
        // SAFETY: the caller's promise; a strip's slice is as large as its lines, filled up to whole steps.
        unsafe {
            let to = to.add(numbers.strip_start(slice, length, strip, strips)).cast();
            match numbers {
                Numbers::Halves => lines.pack_rows(to),
                Numbers::Thirds => lines.split_rows(to),
            }
        }
    }
}

/// Computes the result for some of the packed strips and some panels.
///
/// # Safety
///
/// As for [`Multiplier::multiply`], and the matrix unit is available.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
pub(super) unsafe fn multiply(
    multiplier: &Multiplier,
    numbers: Numbers,
    part: &Part<'_>,
    strips: &Range<usize>,
    panels: &Range<usize>,
) {
    let Product { columns, depth, .. } = &multiplier.product;
    let (begin, end) = part.rows;
    let strip_count = (end - begin).div_ceil(ROWS);
    let rows_of = RowsOf::new(multiplier, numbers, part, strip_count);
    let all = steps(depth.size);
    let mut at = multiplier.finish.at(&multiplier.product, part.number);
    if numbers == Numbers::Halves {
        at = at.beginning_with_columns(columns.size);
    }
    if let (Numbers::Halves, short::STEPS, Panels::Packed(packed)) = (numbers, all, part.panels)
        && at.is_straight()
        && columns.size.is_multiple_of(COLUMNS)
        && (end - begin).is_multiple_of(ROWS)
    {
        let first = packed.wrapping_add(panels.start * all * numbers.step_bytes());
        // SAFETY: the caller's promise; every tile is whole and goes where it belongs as it is.
        return unsafe { short::multiply(part, &at, &rows_of, first, strips, panels) };
    }
    let kept = numbers.kept_panels(depth.size, panels.len());
    let ahead = numbers.ahead(strips.len());
    let mut others = [const { Tile::new() }; 2];
    let mut later = Later::new(&at, part.inputs, part.out, numbers.last_steps(depth.size));
    let mut unit = unit::Configured::new();
    for group in panels.clone().step_by(kept.max(1)) {
        let group = group..(group + kept.max(1)).min(panels.end);
        for stretch in (0..all).step_by(numbers.stretch(depth.size)) {
            let stretch = stretch..(stretch + numbers.stretch(depth.size)).min(all);
            // SAFETY: the caller's promise.
            let packed = unsafe { stretch_of(multiplier, numbers, part, &group, &stretch) };
            let after = rows_of.from(stretch.end..all, strips.start);
            for panel in group.clone() {
                for slice in stretch.clone().step_by(numbers.slice()) {
                    let length = numbers.slice().min(stretch.end - slice);
                    let (begins, ends) = (slice == 0, slice + length == all);
                    let step = (panel - group.start) * packed.apart + slice - stretch.start;
                    let right = packed.first.wrapping_add(step * numbers.step_bytes());
                    let last = slice + length == stretch.end;
                    let to_next = if last { packed.apart - stretch.len() + length } else { length };
                    let next = right.wrapping_add(to_next * numbers.step_bytes());
                    for (turn, strip) in strips.clone().enumerate() {
                        let number = (panel - group.start) * strips.len() + turn;
                        let tile: *mut Tile = match kept {
                            0 => &raw mut others[turn % 2],
                            _ => part.sums.cast::<Tile>().wrapping_add(number),
                        };
                        let (row, column) = (begin + strip * ROWS, panel * COLUMNS);
                        let (rows, wide) =
                            (ROWS.min(end - row), COLUMNS.min(columns.size - column));
                        let place = Place { row, column, columns: wide };
                        let soon = if ends {
                            at.soon(&place, part.inputs, part.out, true)
                        } else {
                            Soon::nothing()
                        };
                        let reads = Reads {
                            panel: right,
                            next: next.wrapping_add(turn * length * ahead),
                            ahead,
                            later: match after {
                                Some(after) => after.wrapping_add(number * length * tile::LATER),
                                None => right,
                            },
                            apart: rows_of.apart,
                            row: rows_of.row,
                            soon: soon.two(tile.cast()),
                        };
                        let plain = ends && rows == ROWS && numbers == Numbers::Halves;
                        let straight = if plain { at.straight(&place, part.out) } else { None };
                        let begin = match begins {
                            true => Begin::with(at.first(&place, part.inputs)),
                            false => Begin::Here,
                        };
                        let run = Run { begin, elsewhere: straight };
                        let left =
                            [Along { strip: rows_of.at(slice, length, strip), steps: length }];
                        // SAFETY: the caller's promise: the packed strips and panels are there, and room for the sums of
                        // these strips and panels; what is left of a tile is done before it is used again.
                        unsafe {
                            unit.settle_in(tile);
                            later.free(tile);
                            (*tile).multiply(&mut unit, numbers, run, left, reads, |steps| {
                                later.some(steps);
                            });
                        }
                        if !ends || straight.is_some() {
                            continue;
                        }
                        let again = match numbers {
                            Numbers::Halves => 0,
                            // SAFETY: as above; nobody else has the tile.
                            Numbers::Thirds => unsafe {
                                unit.settle();
                                (*tile).extraordinary(rows)
                            },
                        };
                        if again != 0 {
                            // SAFETY: as above.
                            unsafe {
                                let sums = &mut *tile;
                                let whole = whole_panel(multiplier, numbers, part, panel);
                                let at = |step: usize| {
                                    let slice = step - step % numbers.slice();
                                    let length = numbers.slice().min(all - slice);
                                    let left = rows_of.at(slice, length, strip);
                                    let bytes = numbers.step_bytes();
                                    [
                                        left.wrapping_add((step - slice) * bytes),
                                        whole.pointer().wrapping_add(step * bytes),
                                    ]
                                };
                                let packed = exact::Packed { at, apart: PART_BYTES, steps: all };
                                packed.multiply(sums.rows_mut(rows), again);
                            }
                        }
                        // SAFETY: the caller's promise; the tile lies within the result.
                        unsafe { later.leave(tile, 0..rows, place) };
                    }
                }
            }
        }
    }
    // SAFETY: as above.
    unsafe {
        unit.settle();
        later.all();
    }
}

/// How the rows of a part lie: as strips, or where they are.
struct RowsOf {
    numbers: Numbers,
    first: *const u8,
    strips: usize,
    packed: bool,
    /// Bytes from one part of a step to the next, and from one row to the next.
    apart: usize,
    row: usize,
}

impl RowsOf {
    fn new(multiplier: &Multiplier, numbers: Numbers, part: &Part<'_>, strips: usize) -> Self {
        let Product { rows, dtypes, .. } = &multiplier.product;
        let bytes = dtypes[0].bytes() as isize;
        match part.strips {
            Strips::Packed(first) => {
                let row = PART_BYTES / ROWS;
                Self { numbers, first, strips, packed: true, apart: PART_BYTES, row }
            }
            Strips::Direct(left) => {
                let [start, ..] = multiplier.product.starts(part.number);
                let at = start + part.rows.0 as isize * rows.lhs;
                let first = left.wrapping_offset(at * bytes);
                let row = (rows.lhs * bytes) as usize;
                Self { numbers, first, strips, packed: false, apart: PART_BYTES / ROWS, row }
            }
            Strips::Unpacked { .. } => unreachable!("the matrix unit packs rows beforehand"),
        }
    }

    /// Where the first slice of some steps begins, those of a strip and of all that follow it, if they do.
    fn from(&self, steps: Range<usize>, strip: usize) -> Option<*const u8> {
        let length = self.numbers.slice().min(steps.len());
        (self.packed && length > 0).then(|| self.at(steps.start, length, strip))
    }

    /// Where a slice of a strip, of so many steps, begins.
    #[inline(always)]
    fn at(&self, slice: usize, length: usize, strip: usize) -> *const u8 {
        self.first.wrapping_add(match self.packed {
            true => self.numbers.strip_start(slice, length, strip, self.strips),
            false => strip * ROWS * self.row + slice * self.apart,
        })
    }
}

/// Panels of a group, packed for a stretch of the depth.
struct Stretch {
    /// The first of them.
    first: *const u8,
    /// Steps from the beginning of one to that of the next.
    apart: usize,
}

/// Where a stretch of some panels is packed; what is not is packed now.
///
/// # Safety
///
/// As for [`multiply`].
#[inline(always)]
unsafe fn stretch_of(
    multiplier: &Multiplier,
    numbers: Numbers,
    part: &Part<'_>,
    group: &Range<usize>,
    stretch: &Range<usize>,
) -> Stretch {
    let all = steps(multiplier.product.depth.size);
    match part.panels {
        Panels::Packed(panels) => {
            let before = group.start * all + stretch.start;
            Stretch { first: panels.wrapping_add(before * numbers.step_bytes()), apart: all }
        }
        Panels::Unpacked { right, room, phases } => {
            phases.timed_within(Phase::Products, Phase::Packing, || {
                for (place, panel) in group.clone().enumerate() {
                    // SAFETY: the caller's promise: there is room for a stretch of as many panels.
                    unsafe {
                        let to = room.add(place * stretch.len() * numbers.step_bytes());
                        pack_panel(multiplier, numbers, right, part.number, panel, stretch, to);
                    }
                }
            });
            Stretch { first: room, apart: stretch.len() }
        }
        Panels::Direct(_) => unreachable!("the matrix unit is given packed columns"),
    }
}

/// A panel with all of its depth.
enum Whole {
    There(*const u8),
    Made(Buffer),
}

impl Whole {
    fn pointer(&self) -> *const u8 {
        match self {
            Self::There(panel) => *panel,
            Self::Made(panel) => panel.pointer(),
        }
    }
}

/// A panel with all of its depth, packed once more where only a stretch of it is at hand.
///
/// # Safety
///
/// As for [`multiply`].
#[cold]
unsafe fn whole_panel(
    multiplier: &Multiplier,
    numbers: Numbers,
    part: &Part<'_>,
    panel: usize,
) -> Whole {
    let depth = multiplier.product.depth.size;
    let bytes = numbers.packed_bytes(depth);
    match part.panels {
        Panels::Packed(panels) => Whole::There(panels.wrapping_add(panel * bytes)),
        Panels::Unpacked { right, .. } => {
            let made = Buffer::new(bytes);
            let all = 0..steps(depth);
            // SAFETY: the caller's promise; the buffer has room for the panel.
            unsafe {
                pack_panel(multiplier, numbers, right, part.number, panel, &all, made.pointer());
            }
            Whole::Made(made)
        }
        Panels::Direct(_) => unreachable!("the matrix unit is given packed columns"),
    }
}
