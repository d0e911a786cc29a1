//! Numbers of f32 in three parts of bf16: how they are split, and the loop that multiplies them.
//!
//! The parts are the number rounded to eight bits, what that lacks rounded to eight bits, and the rest, which eight bits hold.
//! A part that is too small to be a normal number is 0 to the unit.
#![allow(unsafe_code)]

use super::STEP;
use super::pack::{Gathered, Lines, NUMBERS};
#[cfg(target_arch = "x86_64")]
use super::tile::Reads;
use super::tile::Tile;

/// Parts of a number.
pub(super) const PARTS: usize = 3;

/// Bytes of what comes next that are asked for in one step.
pub(super) const AHEAD: usize = 1024;

/// Lines may be far from one another, so the machine does not see by itself which come next: so many are asked for in advance.
/// More would drive each other out of the nearest cache, where lines lie at whole pages.
const LINES_AHEAD: isize = 8;

/// A step of f32, gathered: the numbers of each line.
#[repr(C, align(64))]
struct Numbers([[f32; STEP]; 32]);

impl Lines {
    /// Lines of f32 as rows, the parts of a step one after the other.
    ///
    /// # Safety
    ///
    /// As for [`Lines::pack_rows`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn split_rows(&self, to: *mut u16) {
        let mut numbers = Numbers([[0.0; STEP]; 32]);
        for (step, start) in (0..self.length).step_by(STEP).enumerate() {
            // SAFETY: the caller's promise; a step is 32 lines of 32 numbers, in three parts.
            unsafe { self.split_step(start, &mut numbers, to.add(step * PARTS * NUMBERS)) };
        }
    }

    /// One step as rows.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn split_step(&self, start: usize, numbers: &mut Numbers, to: *mut u16) {
        // SAFETY: the caller's promise; lines of a whole step are read where they are.
        unsafe {
            if self.along == 1 && self.count == 32 && start + STEP <= self.length {
                for line in 0..32 {
                    let at = start as isize + line as isize * self.across;
                    let from = self.from.cast::<f32>().offset(at);
                    ask_for(from.wrapping_offset(LINES_AHEAD * self.across));
                    store(split(from), to.add(line * STEP));
                }
            } else {
                self.gather_numbers(start, numbers);
                for (line, numbers) in numbers.0.iter().enumerate() {
                    store(split(numbers.as_ptr()), to.add(line * STEP));
                }
            }
        }
    }

    /// Lines of f32 as columns, the parts of a step one after the other.
    ///
    /// # Safety
    ///
    /// As for [`Lines::pack_columns`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn split_columns(&self, to: *mut u16) {
        use super::pack::Pairing;
        let mut numbers = Numbers([[0.0; STEP]; 32]);
        let mut gathered = [const { Gathered([[0; STEP]; 32]) }; PARTS];
        let pairing = Pairing::new();
        for (step, start) in (0..self.length).step_by(STEP).enumerate() {
            // SAFETY: the caller's promise; the step has room for 32 lines of 32 numbers, in three parts.
            unsafe {
                let to = to.add(step * PARTS * NUMBERS);
                if self.across == 1 && self.count == 32 && start + STEP <= self.length {
                    let place = |at: usize| {
                        let at = (start + at) as isize * self.along;
                        let from = self.from.cast::<f32>().offset(at);
                        ask_for(from.wrapping_offset(LINES_AHEAD * self.along));
                        split(from)
                    };
                    for pair in 0..STEP / 2 {
                        let (even, odd) = (place(2 * pair), place(2 * pair + 1));
                        for part in 0..PARTS {
                            pairing.store(even[part], odd[part], pair, to.add(part * NUMBERS));
                        }
                    }
                    continue;
                }
                let rows = gathered.as_mut_ptr().cast::<u16>();
                self.split_step(start, &mut numbers, rows);
                for (part, gathered) in gathered.iter().enumerate() {
                    gathered.turn(to.add(part * NUMBERS));
                }
            }
        }
    }

    /// The numbers of one step, line by line.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn gather_numbers(&self, start: usize, to: &mut Numbers) {
        let count = STEP.min(self.length - start);
        let (here, missing) = to.0.split_at_mut(self.count);
        missing.as_flattened_mut().fill(0.0);
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.from.cast::<f32>().offset(start as isize * self.along);
            if self.along == 1 {
                for (line, to) in here.iter_mut().enumerate() {
                    let from = from.offset(line as isize * self.across);
                    to[..count].copy_from_slice(std::slice::from_raw_parts(from, count));
                    to[count..].fill(0.0);
                }
            } else if self.across == 1 && self.count == 32 && count == STEP {
                for [line, place] in [[0, 0], [0, 16], [16, 0], [16, 16]] {
                    let from = from.offset(place as isize * self.along).add(line);
                    crate::loops::squares::turn_sixteen(
                        |at| from.offset(at as isize * self.along).cast(),
                        |at| here[line + at][place..].as_mut_ptr().cast(),
                    );
                }
            } else {
                for (line, to) in here.iter_mut().enumerate() {
                    for (at, to) in to.iter_mut().enumerate() {
                        let offset = line as isize * self.across + at as isize * self.along;
                        *to = if at < count { *from.offset(offset) } else { 0.0 };
                    }
                }
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) unsafe fn split_rows(&self, _: *mut u16) {
        unreachable!("there is no matrix unit");
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) unsafe fn split_columns(&self, _: *mut u16) {
        unreachable!("there is no matrix unit");
    }
}

/// Asks for 32 numbers.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask_for(numbers: *const f32) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: asking for memory that is not there does nothing.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(numbers.cast());
        _mm_prefetch::<_MM_HINT_T0>(numbers.wrapping_add(16).cast());
    }
}

/// The parts of 32 numbers that follow one another.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn split(from: *const f32) -> [std::arch::x86_64::__m512i; PARTS] {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_permutex2var_epi16};
    // SAFETY: the caller's promise: there are 32 numbers.
    let (low, high) = unsafe {
        (sixteen(_mm512_loadu_si512(from.cast())), sixteen(_mm512_loadu_si512(from.add(16).cast())))
    };
    // The upper halves of the first sixteen, then those of the others.
    const PLACES: [u16; 32] = {
        let mut places = [0; 32];
        let mut at = 0;
        while at < 32 {
            places[at] = 2 * at as u16 + 1;
            at += 1;
        }
        places
    };
    // SAFETY: there are 32 places.
    let places = unsafe { _mm512_loadu_si512(PLACES.as_ptr().cast()) };
    // Not by a closure: what it was given would go through memory.
    [
        _mm512_permutex2var_epi16(low[0], places, high[0]),
        _mm512_permutex2var_epi16(low[1], places, high[1]),
        _mm512_permutex2var_epi16(low[2], places, high[2]),
    ]
}

/// The parts of 16 numbers, each as an f32.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn sixteen(bits: std::arch::x86_64::__m512i) -> [std::arch::x86_64::__m512i; PARTS] {
    use std::arch::x86_64::{
        _CMP_UNORD_Q, _mm512_add_epi32, _mm512_and_si512, _mm512_castps_si512, _mm512_castsi512_ps,
        _mm512_cmp_ps_mask, _mm512_cmpge_epu32_mask, _mm512_mask_add_epi32, _mm512_mask_or_epi32,
        _mm512_maskz_mov_epi32, _mm512_set1_epi32, _mm512_sub_ps,
    };
    /// What rounds up to infinity, and what is not finite.
    const LARGE: i32 = 0x7f7f_8000;
    let upper = _mm512_set1_epi32(0xffff_0000_u32 as i32);
    let half = _mm512_set1_epi32(0x8000);
    let size = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fff_ffff));
    let large = _mm512_cmpge_epu32_mask(size, _mm512_set1_epi32(LARGE));
    macro_rules! less {
        ($a:expr, $b:expr) => {
            _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps($a), _mm512_castsi512_ps($b)))
        };
    }
    if large == 0 {
        let first = _mm512_and_si512(_mm512_add_epi32(bits, half), upper);
        let rest = less!(bits, first);
        let second = _mm512_and_si512(_mm512_add_epi32(rest, half), upper);
        return [first, second, less!(rest, second)];
    }
    // What is large is cut off instead of rounded; what is not finite has one part.
    let numbers = _mm512_castsi512_ps(bits);
    let none = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(numbers, numbers);
    let finite = !_mm512_cmpge_epu32_mask(size, _mm512_set1_epi32(0x7f80_0000));
    let first = _mm512_and_si512(_mm512_mask_add_epi32(bits, !large, bits, half), upper);
    let first = _mm512_mask_or_epi32(first, none, first, _mm512_set1_epi32(0x40_0000));
    let rest = _mm512_maskz_mov_epi32(finite, less!(bits, first));
    let second = _mm512_and_si512(_mm512_mask_add_epi32(rest, !large, rest, half), upper);
    [first, second, less!(rest, second)]
}

/// Writes the parts of 32 numbers of a line, a part of the step from one to the next.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn store(parts: [std::arch::x86_64::__m512i; PARTS], to: *mut u16) {
    for (part, numbers) in parts.into_iter().enumerate() {
        // SAFETY: the caller's promise: a line begins at a cache line, and there is room for its parts.
        unsafe { std::arch::x86_64::_mm512_store_si512(to.add(part * NUMBERS).cast(), numbers) };
    }
}

/// Writes the parts of 32 numbers that follow one another, so many bytes from one part to the next.
///
/// # Safety
///
/// The numbers are there, and each part begins at a cache line; the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn split_pixel(from: *const f32, to: *mut u8, apart: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        for (part, numbers) in split(from).into_iter().enumerate() {
            std::arch::x86_64::_mm512_store_si512(to.add(part * apart).cast(), numbers);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn split_pixel(_: *const f32, _: *mut u8, _: usize) {
    unreachable!("there is no matrix unit");
}

/// Four products: both registers of rows with both of columns; and what is read for them, each right before it is needed.
#[cfg(target_arch = "x86_64")]
macro_rules! products {
    (rows columns $columns:literal) => {
        concat!(
            "tileloadd tmm4, [{left} + {line}*1]\n",
            "tileloadd tmm6, [{right} + {line}*1 + ",
            $columns,
            "]\n",
            "tdpbf16ps tmm0, tmm4, tmm6\n",
            "tileloadd tmm7, [{right} + {line}*1 + ",
            $columns,
            " + 1024]\n",
            "tdpbf16ps tmm1, tmm4, tmm7\n",
            "tileloadd tmm5, [{left} + {line}*1 + 1024]\n",
            "tdpbf16ps tmm2, tmm5, tmm6\n",
            "tdpbf16ps tmm3, tmm5, tmm7\n",
        )
    };
    (rows) => {
        concat!(
            "tileloadd tmm4, [{left} + {line}*1]\n",
            "tdpbf16ps tmm0, tmm4, tmm6\n",
            "tdpbf16ps tmm1, tmm4, tmm7\n",
            "tileloadd tmm5, [{left} + {line}*1 + 1024]\n",
            "tdpbf16ps tmm2, tmm5, tmm6\n",
            "tdpbf16ps tmm3, tmm5, tmm7\n",
        )
    };
    (columns $columns:literal) => {
        concat!(
            "tileloadd tmm6, [{right} + {line}*1 + ",
            $columns,
            "]\n",
            "tdpbf16ps tmm0, tmm4, tmm6\n",
            "tdpbf16ps tmm2, tmm5, tmm6\n",
            "tileloadd tmm7, [{right} + {line}*1 + ",
            $columns,
            " + 1024]\n",
            "tdpbf16ps tmm1, tmm4, tmm7\n",
            "tdpbf16ps tmm3, tmm5, tmm7\n",
        )
    };
}

/// Asks for four cache lines of what comes next.
#[cfg(target_arch = "x86_64")]
macro_rules! ahead {
    ($at:literal) => {
        concat!(
            "prefetcht1 [{next} + ",
            $at,
            "]\n",
            "prefetcht1 [{next} + ",
            $at,
            " + 64]\n",
            "prefetcht1 [{next} + ",
            $at,
            " + 128]\n",
            "prefetcht1 [{next} + ",
            $at,
            " + 192]\n",
        )
    };
}

impl Tile {
    /// Which of the first rows, one bit each, are not what parts can give: a sum is infinite or no number, or the largest is so
    /// small that products of parts became 0. It is decided row by row, because which rows share a tile depends on the number
    /// of threads.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn extraordinary(&self, count: usize) -> u32 {
        use std::arch::x86_64::{
            _mm512_and_si512, _mm512_cmpge_epu32_mask, _mm512_load_si512, _mm512_max_epu32,
            _mm512_set1_epi32, _mm512_test_epi32_mask,
        };
        /// Bits of 2 to the power of -84: what 4,096 products of parts lack at most, each too small to be a normal number,
        /// is 2 to the power of -28 of that.
        const SMALL: i32 = (127 - 84) << 23;
        const INFINITE: i32 = 0x7f80_0000;
        let size = _mm512_set1_epi32(0x7fff_ffff);
        let (small, infinite) = (_mm512_set1_epi32(SMALL), _mm512_set1_epi32(INFINITE));
        let mut found = 0;
        for (row, numbers) in self.rows().iter().take(count).enumerate() {
            let numbers = numbers.as_ptr();
            // SAFETY: a row is two vectors, each at the beginning of a cache line.
            let [low, high] = unsafe {
                [_mm512_load_si512(numbers.cast()), _mm512_load_si512(numbers.add(16).cast())]
            };
            let most = _mm512_max_epu32(_mm512_and_si512(low, size), _mm512_and_si512(high, size));
            let large = _mm512_cmpge_epu32_mask(most, small) != 0;
            let finite = _mm512_cmpge_epu32_mask(most, infinite) == 0;
            if !(large && finite) && _mm512_test_epi32_mask(most, most) != 0 {
                found |= 1 << row;
            }
        }
        found
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn extraordinary(&self, _: usize) -> u32 {
        unreachable!("there is no matrix unit");
    }
}

#[cfg(target_arch = "x86_64")]
impl Reads {
    /// Adds the products of some steps of numbers in parts, the small ones of a step first.
    ///
    /// # Safety
    ///
    /// As for numbers of bf16.
    #[inline(always)]
    pub(super) unsafe fn add_thirds(&mut self, strip: &mut *const u8, steps: usize) {
        let [(first, first_row), (second, second_row)] = &mut self.soon;
        // SAFETY: the caller's promise; asking for memory that is not there does nothing.
        unsafe {
            std::arch::asm!(
                "3:",
                // Parts of rows from the last, the smallest, to the first.
                "lea {left}, [{left} + {apart}*2]",
                products!(rows columns 0),
                "sub {left}, {apart}",
                ahead!(0),
                products!(rows),
                "sub {left}, {apart}",
                ahead!(256),
                products!(columns 2048),
                ahead!(512),
                products!(rows),
                ahead!(768),
                products!(columns 4096),
                "prefetcht0 [{first}]",
                "prefetcht0 [{first} + 64]",
                "prefetcht0 [{first} + {first_row}]",
                "prefetcht0 [{first} + {first_row} + 64]",
                "lea {first}, [{first} + {first_row}*2]",
                "prefetcht0 [{second}]",
                "prefetcht0 [{second} + 64]",
                "prefetcht0 [{second} + {second_row}]",
                "prefetcht0 [{second} + {second_row} + 64]",
                "lea {second}, [{second} + {second_row}*2]",
                products!(columns 0),
                "lea {left}, [{left} + {apart}*2]",
                "add {left}, {apart}",
                "add {right}, 6144",
                "add {next}, 1024",
                "dec {steps}",
                "jnz 3b",
                line = in(reg) 64_usize,
                left = inout(reg) *strip,
                right = inout(reg) self.panel,
                next = inout(reg) self.next,
                apart = in(reg) self.apart,
                first = inout(reg) *first,
                first_row = in(reg) *first_row,
                second = inout(reg) *second,
                second_row = in(reg) *second_row,
                steps = inout(reg) steps => _,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack, readonly),
            );
        }
    }
}
