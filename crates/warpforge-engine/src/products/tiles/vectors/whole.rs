//! Whole tiles, written for the machine: 28 vectors of sums, two of columns and one of a row's number are all registers but one,
//! and each sum has its own from the first step to the last. Compilers move sums about when so few registers are left. There
//! are two codes of each, the full one and the `SHORT` one ([`super::pace`]), which do the same multiplications in the same order.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::{
    __m512, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_set1_ps, _mm512_setzero_ps,
};

use super::super::finish::Soon;
use super::tile::{AHEAD, Operands, ROWS, STEPS};

const NUMBER: isize = size_of::<f32>() as isize;

/// The sums of a whole tile.
pub(super) type Sums = [[__m512; 2]; ROWS];

/// A step of the depth, as text: lines that are asked for, two vectors of columns, and with both the number of each row, whose
/// address is in pieces. A number is read `once`, or `twice`, by the multiplications themselves: one instruction less, one read
/// more. That holds for addresses of one register; others are instructions of their own.
macro_rules! step {
    ($right:literal [$($later:literal)?] $($row:tt),+) => {
        step!(@ $right [$($later)?] ($($row),+)
            (0 1)(2 3)(4 5)(6 7)(8 9)(10 11)(12 13)(14 15)(16 17)(18 19)(20 21)(22 23)(24 25)(26 27))
    };
    (@ $right:literal [$($later:literal)?] ($($row:tt),+) $(($low:literal $high:literal))+) => {
        concat!(
            "vmovups zmm28, zmmword ptr [", $right, "]\n",
            "vmovups zmm29, zmmword ptr [", $right, " + 64]\n",
            $(
                "prefetcht0 byte ptr [", $later, "]\n",
                "prefetcht0 byte ptr [", $later, " + 64]\n",
            )?
            $( row!($row $low $high), )+
        )
    };
}

/// A row of a step.
macro_rules! row {
    ((once $place:literal $number:literal) $low:literal $high:literal) => {
        concat!(
            "vbroadcastss zmm30, dword ptr [",
            $place,
            $number,
            "]\n",
            "vfmadd231ps zmm",
            $low,
            ", zmm30, zmm28\n",
            "vfmadd231ps zmm",
            $high,
            ", zmm30, zmm29\n",
        )
    };
    ((twice $place:literal $number:literal) $low:literal $high:literal) => {
        concat!(
            "vfmadd231ps zmm",
            $low,
            ", zmm28, dword ptr [",
            $place,
            $number,
            "]{{1to16}}\n",
            "vfmadd231ps zmm",
            $high,
            ", zmm29, dword ptr [",
            $place,
            $number,
            "]{{1to16}}\n",
        )
    };
}

/// A step whose rows lie side by side.
macro_rules! beside {
    ($right:literal [$($later:literal)?] $left:literal $some:ident) => {
        step!($right [$($later)?]
            (once $left ""), ($some $left " + 4"), (once $left " + 8"), (once $left " + 12"), ($some $left " + 16"),
            (once $left " + 20"), (once $left " + 24"), ($some $left " + 28"), (once $left " + 32"), (once $left " + 36"),
            ($some $left " + 40"), (once $left " + 44"), (once $left " + 48"), ($some $left " + 52"))
    };
}

/// A step whose rows lie at a distance, and which number of theirs it takes. All are reached from four of them: an address
/// can be a place and a distance once, twice, four or eight times.
macro_rules! apart {
    ($right:literal [$($later:literal)?] $number:literal $some:ident) => {
        step!($right [$($later)?]
            ($some "{row_0}" $number), (once "{row_0} + {row}" $number), (once "{row_0} + 2 * {row}" $number),
            ($some "{row_3}" $number), (once "{row_0} + 4 * {row}" $number), ($some "{row_5}" $number),
            (once "{row_5} + {row}" $number), (once "{row_3} + 4 * {row}" $number), (once "{row_0} + 8 * {row}" $number),
            (once "{row_5} + 4 * {row}" $number), ($some "{row_10}" $number), (once "{row_10} + {row}" $number),
            (once "{row_10} + 2 * {row}" $number), (once "{row_5} + 8 * {row}" $number))
    };
}

/// Steps of the depth whose sums are `$sums`.
macro_rules! steps {
    ($sums:ident: $($text:expr),+; $($name:ident = $value:expr),+ $(,)?) => {
        steps!(@ $sums; ($($text),+); ($($name = $value),+);
            (0 "zmm0" "zmm1")(1 "zmm2" "zmm3")(2 "zmm4" "zmm5")(3 "zmm6" "zmm7")(4 "zmm8" "zmm9")
            (5 "zmm10" "zmm11")(6 "zmm12" "zmm13")(7 "zmm14" "zmm15")(8 "zmm16" "zmm17")
            (9 "zmm18" "zmm19")(10 "zmm20" "zmm21")(11 "zmm22" "zmm23")(12 "zmm24" "zmm25")
            (13 "zmm26" "zmm27"))
    };
    (@ $sums:ident; ($($text:expr),+); ($($name:ident = $value:expr),+);
        $(($row:literal $low:tt $high:tt))+) => {
        asm!(
            $($text),+,
            $($name = in(reg) $value,)+
            $(inout($low) $sums[$row][0], inout($high) $sums[$row][1],)+
            out("zmm28") _, out("zmm29") _, out("zmm30") _,
            options(nostack, preserves_flags, readonly)
        )
    };
}

/// The products of a slice of the depth, where the rows of a step lie side by side.
///
/// # Safety
///
/// As for [`super::tile::multiply_to`].
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn multiply<const SHORT: bool>(
    depth: usize,
    operands: &Operands,
    soon: &mut Soon,
) -> Sums {
    let Operands { mut left, left_step, mut right, right_step, mut next, next_step, .. } =
        *operands;
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    let (left_by, right_by) = (left_step * NUMBER, right_step * NUMBER);
    let (left_by_3, right_by_3) = (3 * left_by, 3 * right_by);
    let mut four = || {
        _mm_prefetch::<_MM_HINT_T1>(next.cast());
        next = next.wrapping_offset(next_step);
        // SAFETY: the caller's promise; asking for memory that is not there does nothing.
        unsafe {
            if SHORT {
                steps!(sums:
                    beside!("{right}" [] "{left_0}" twice),
                    beside!("{right} + {right_by}" [] "{left_1}" twice),
                    beside!("{right} + 2 * {right_by}" [] "{left_2}" twice),
                    beside!("{right} + {right_by_3}" [] "{left_3}" twice);
                    left_0 = left,
                    left_1 = left.wrapping_offset(left_step),
                    left_2 = left.wrapping_offset(2 * left_step),
                    left_3 = left.wrapping_offset(3 * left_step),
                    right = right,
                    right_by = right_by,
                    right_by_3 = right_by_3,
                );
            } else {
                steps!(sums:
                    beside!("{right}" ["{later}"] "{left}" once),
                    "prefetcht0 byte ptr [{soon}]",
                    beside!("{right} + {right_by}" ["{later} + {right_by}"] "{left} + {left_by}" once),
                    "prefetcht0 byte ptr [{soon} + {left_by}]",
                    beside!("{right} + 2 * {right_by}" ["{later} + 2 * {right_by}"] "{left} + 2 * {left_by}" once),
                    "prefetcht0 byte ptr [{soon} + 2 * {left_by}]",
                    beside!("{right} + {right_by_3}" ["{later} + {right_by_3}"] "{left} + {left_by_3}" once),
                    "prefetcht0 byte ptr [{soon} + {left_by_3}]";
                    left = left,
                    left_by = left_by,
                    left_by_3 = left_by_3,
                    soon = left.wrapping_offset(2 * AHEAD * left_step),
                    right = right,
                    right_by = right_by,
                    right_by_3 = right_by_3,
                    later = right.wrapping_offset(AHEAD * right_step),
                );
            }
        }
        left = left.wrapping_offset(STEPS as isize * left_step);
        right = right.wrapping_offset(STEPS as isize * right_step);
    };
    // What the tile is combined with is asked for row by row, late enough to be still there and early enough to be there.
    let all = depth / STEPS;
    let before = all.saturating_sub(2 * ROWS);
    let rows = ROWS.min(all);
    for _ in 0..before {
        four();
    }
    for _ in 0..rows {
        soon.ask_for_next();
        four();
    }
    for _ in before + rows..all {
        four();
    }
    for _ in 0..depth % STEPS {
        // SAFETY: the caller's promise.
        unsafe {
            one(&mut sums, right, |row| *left.add(row));
        }
        left = left.wrapping_offset(left_step);
        right = right.wrapping_offset(right_step);
    }
    sums
}

/// The same where the numbers of each row lie side by side.
///
/// # Safety
///
/// As for [`multiply`].
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn multiply_rows<const SHORT: bool>(
    depth: usize,
    operands: &Operands,
    soon: &mut Soon,
) -> Sums {
    /// How many numbers ahead a row is asked for.
    const ROW_AHEAD: usize = 32;
    /// Numbers of a cache line, and in how many turns the next line of every row is asked for.
    const LINE: usize = 16;
    const TURNS: usize = LINE / STEPS;
    const AT_ONCE: usize = ROWS.div_ceil(TURNS);

    let Operands { left, left_row, mut right, right_step, mut next, next_step, .. } = *operands;
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    let (row, right_by) = (left_row * NUMBER, right_step * NUMBER);
    let right_by_3 = 3 * right_by;
    let place = |number: isize| left.wrapping_offset(number * left_row);
    let [mut row_0, mut row_3, mut row_5, mut row_10] = [place(0), place(3), place(5), place(10)];
    let mut four = || {
        _mm_prefetch::<_MM_HINT_T1>(next.cast());
        next = next.wrapping_offset(next_step);
        // SAFETY: the caller's promise; asking for memory that is not there does nothing.
        unsafe {
            if SHORT {
                steps!(sums:
                    apart!("{right}" [] "" twice),
                    apart!("{right} + {right_by}" [] " + 4" twice),
                    apart!("{right} + 2 * {right_by}" [] " + 8" twice),
                    apart!("{right} + {right_by_3}" [] " + 12" twice);
                    row = row,
                    row_0 = row_0,
                    row_3 = row_3,
                    row_5 = row_5,
                    row_10 = row_10,
                    right = right,
                    right_by = right_by,
                    right_by_3 = right_by_3,
                );
            } else {
                steps!(sums:
                    apart!("{right}" ["{later}"] "" once),
                    apart!("{right} + {right_by}" ["{later} + {right_by}"] " + 4" once),
                    apart!("{right} + 2 * {right_by}" ["{later} + 2 * {right_by}"] " + 8" once),
                    apart!("{right} + {right_by_3}" ["{later} + {right_by_3}"] " + 12" once);
                    row = row,
                    row_0 = row_0,
                    row_3 = row_3,
                    row_5 = row_5,
                    row_10 = row_10,
                    right = right,
                    right_by = right_by,
                    right_by_3 = right_by_3,
                    later = right.wrapping_offset(AHEAD * right_step),
                );
            }
        }
        for place in [&mut row_0, &mut row_3, &mut row_5, &mut row_10] {
            *place = place.wrapping_add(STEPS);
        }
        right = right.wrapping_offset(STEPS as isize * right_step);
    };
    let lines = depth / LINE;
    // What the tile is combined with is asked for a few rows at a time, not long before.
    let before = lines.saturating_sub(2 * TURNS);
    for line in 0..lines {
        if line >= before && line < before + TURNS {
            (0..AT_ONCE).for_each(|_| soon.ask_for_next());
        }
        let mut soon = left.wrapping_add(line * LINE + ROW_AHEAD);
        for _ in 0..TURNS {
            for _ in 0..AT_ONCE {
                _mm_prefetch::<_MM_HINT_T0>(soon.cast());
                soon = soon.wrapping_offset(left_row);
            }
            four();
        }
    }
    for step in lines * LINE..depth {
        // SAFETY: the caller's promise.
        unsafe {
            one(&mut sums, right, |row| *left.offset(row as isize * left_row).add(step));
        }
        right = right.wrapping_offset(right_step);
    }
    sums
}

/// One more step, with the numbers of its rows.
///
/// # Safety
///
/// The columns are there.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn one(sums: &mut Sums, right: *const f32, left: impl Fn(usize) -> f32) {
    // SAFETY: the caller's promise.
    let columns = unsafe { [_mm512_loadu_ps(right), _mm512_loadu_ps(right.add(16))] };
    for (row, sums) in sums.iter_mut().enumerate() {
        let value = _mm512_set1_ps(left(row));
        sums[0] = _mm512_fmadd_ps(value, columns[0], sums[0]);
        sums[1] = _mm512_fmadd_ps(value, columns[1], sums[1]);
    }
}
