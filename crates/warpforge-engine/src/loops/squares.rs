//! Squares of elements turned: what lies one after the other in a line comes to lie one below the other.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_permutex2var_epi16, _mm512_setzero_si512,
    _mm512_shuffle_i32x4, _mm512_storeu_si512, _mm512_stream_si512, _mm512_unpackhi_epi32,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

/// 32 lines of 32 things of two bytes become 32 lines of one of each.
///
/// # Safety
///
/// Lines lead to as many, and the machine has 512-bit vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(crate) unsafe fn turn_thirty_two(
    from: impl Fn(usize) -> *const u16,
    to: impl Fn(usize) -> *mut u16,
) {
    // SAFETY: the caller's promise.
    unsafe {
        turned_thirty_two(from, |line, numbers| _mm512_storeu_si512(to(line).cast(), numbers));
    }
}

/// The same, past the caches.
///
/// # Safety
///
/// As above; what is written are whole cache lines.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(crate) unsafe fn stream_thirty_two(
    from: impl Fn(usize) -> *const u16,
    to: impl Fn(usize) -> *mut u16,
) {
    // SAFETY: the caller's promise.
    unsafe {
        turned_thirty_two(from, |line, numbers| _mm512_stream_si512(to(line).cast(), numbers));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn turned_thirty_two(
    from: impl Fn(usize) -> *const u16,
    mut put: impl FnMut(usize, __m512i),
) {
    /// Where pairs of two lines come from: the first sixteen columns, and the others.
    const PLACES: [[u16; 32]; 2] = {
        let mut places = [[0; 32]; 2];
        let mut at = 0;
        while at < 64 {
            places[at / 32][at % 32] = (at / 2 + at % 2 * 32) as u16;
            at += 1;
        }
        places
    };
    let mut pairs = [[_mm512_setzero_si512(); 16]; 2];
    // SAFETY: the caller's promise; a line is one vector, as is one of the places.
    unsafe {
        let first_places = _mm512_loadu_si512(PLACES[0].as_ptr().cast());
        let second_places = _mm512_loadu_si512(PLACES[1].as_ptr().cast());
        let [first, second] = &mut pairs;
        for (pair, (first, second)) in first.iter_mut().zip(second).enumerate() {
            let even = _mm512_loadu_si512(from(2 * pair).cast());
            let odd = _mm512_loadu_si512(from(2 * pair + 1).cast());
            *first = _mm512_permutex2var_epi16(even, first_places, odd);
            *second = _mm512_permutex2var_epi16(even, second_places, odd);
        }
        for (half, pairs) in pairs.iter().enumerate() {
            turned_sixteen(|line| pairs[line], |line, numbers| put(16 * half + line, numbers));
        }
    }
}

/// 16 lines of 16 things of four bytes become 16 lines of one of each.
///
/// # Safety
///
/// Lines lead to as many, and the machine has 512-bit vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(crate) unsafe fn turn_sixteen(
    from: impl Fn(usize) -> *const u32,
    mut to: impl FnMut(usize) -> *mut u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let line = |line| _mm512_loadu_si512(from(line).cast());
        turned_sixteen(line, |line, numbers| _mm512_storeu_si512(to(line).cast(), numbers));
    }
}

/// The same, past the caches.
///
/// # Safety
///
/// As above; what is written are whole cache lines.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(crate) unsafe fn stream_sixteen(
    from: impl Fn(usize) -> *const u32,
    mut to: impl FnMut(usize) -> *mut u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let line = |line| _mm512_loadu_si512(from(line).cast());
        turned_sixteen(line, |line, numbers| _mm512_stream_si512(to(line).cast(), numbers));
    }
}

/// The same for lines that are already read, handing on what becomes of them.
///
/// Closures with vectors are never given to functions of the standard library here: those are compiled for any processor, so
/// the closure would not become part of them and every vector would pass through memory.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(crate) fn turned_sixteen(line: impl Fn(usize) -> __m512i, mut put: impl FnMut(usize, __m512i)) {
    let mut turned = [_mm512_setzero_si512(); 16];
    for four in [0, 4, 8, 12] {
        let (a, b, c, d) = (line(four), line(four + 1), line(four + 2), line(four + 3));
        let (low, high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (low_next, high_next) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        turned[four] = _mm512_unpacklo_epi64(low, low_next);
        turned[four + 1] = _mm512_unpackhi_epi64(low, low_next);
        turned[four + 2] = _mm512_unpacklo_epi64(high, high_next);
        turned[four + 3] = _mm512_unpackhi_epi64(high, high_next);
    }
    // Each holds four pairs of every fourth place; those of one place are brought together.
    for place in [0, 1, 2, 3] {
        let (a, b) = (turned[place], turned[4 + place]);
        let (c, d) = (turned[8 + place], turned[12 + place]);
        let (first, second) =
            (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
        let (third, fourth) =
            (_mm512_shuffle_i32x4::<0x88>(c, d), _mm512_shuffle_i32x4::<0xdd>(c, d));
        put(place, _mm512_shuffle_i32x4::<0x88>(first, third));
        put(4 + place, _mm512_shuffle_i32x4::<0x88>(second, fourth));
        put(8 + place, _mm512_shuffle_i32x4::<0xdd>(first, third));
        put(12 + place, _mm512_shuffle_i32x4::<0xdd>(second, fourth));
    }
}
