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
        let places = [0, 1].map(|half: usize| _mm512_loadu_si512(PLACES[half].as_ptr().cast()));
        let [first, second] = &mut pairs;
        for (pair, (first, second)) in first.iter_mut().zip(second).enumerate() {
            let even = _mm512_loadu_si512(from(2 * pair).cast());
            let odd = _mm512_loadu_si512(from(2 * pair + 1).cast());
            *first = _mm512_permutex2var_epi16(even, places[0], odd);
            *second = _mm512_permutex2var_epi16(even, places[1], odd);
        }
        for (half, pairs) in pairs.iter().enumerate() {
            turned_sixteen(
                |line| (&raw const pairs[line]).cast(),
                |line, numbers| put(16 * half + line, numbers),
            );
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
        turned_sixteen(from, |line, numbers| _mm512_storeu_si512(to(line).cast(), numbers));
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
        turned_sixteen(from, |line, numbers| _mm512_stream_si512(to(line).cast(), numbers));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn turned_sixteen(from: impl Fn(usize) -> *const u32, mut put: impl FnMut(usize, __m512i)) {
    let mut lines: [__m512i; 16] = std::array::from_fn(|line| {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_si512(from(line).cast()) }
    });
    let mut turned = [_mm512_setzero_si512(); 16];
    for four in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|line| lines[4 * four + line]);
        let (low, high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (low_next, high_next) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        turned[4 * four] = _mm512_unpacklo_epi64(low, low_next);
        turned[4 * four + 1] = _mm512_unpackhi_epi64(low, low_next);
        turned[4 * four + 2] = _mm512_unpacklo_epi64(high, high_next);
        turned[4 * four + 3] = _mm512_unpackhi_epi64(high, high_next);
    }
    // Each holds four pairs of every fourth place; those of one place are brought together.
    for place in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|four| turned[4 * four + place]);
        let (first, second) =
            (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
        let (third, fourth) =
            (_mm512_shuffle_i32x4::<0x88>(c, d), _mm512_shuffle_i32x4::<0xdd>(c, d));
        lines[place] = _mm512_shuffle_i32x4::<0x88>(first, third);
        lines[4 + place] = _mm512_shuffle_i32x4::<0x88>(second, fourth);
        lines[8 + place] = _mm512_shuffle_i32x4::<0xdd>(first, third);
        lines[12 + place] = _mm512_shuffle_i32x4::<0xdd>(second, fourth);
    }
    for (line, pairs) in lines.into_iter().enumerate() {
        put(line, pairs);
    }
}
