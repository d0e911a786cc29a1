//! The GELU of many numbers by 512-bit vectors: the error function as a polynomial for each quarter, whose coefficients the
//! numbers pick from registers.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512, _mm512_add_ps, _mm512_andnot_si512, _mm512_castps_si512, _mm512_castsi512_ps,
    _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_min_ps, _mm512_mul_ps, _mm512_permutexvar_ps,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_storeu_ps, _mm512_sub_ps, _mm512_ternarylogic_epi32,
};
use std::f32::consts::FRAC_1_SQRT_2;

use warpforge_codegen::coefficients::{ERF_END, ERF_PIECES, QUARTERS};

const LANES: usize = 16;

/// Half of each number times 1 plus the error function of it over the root of 2.
#[target_feature(enable = "avx512f")]
pub(super) fn gelu(values: &mut [f32]) {
    let mut pieces = [_mm512_set1_ps(0.0); ERF_PIECES.len()];
    for (piece, numbers) in pieces.iter_mut().zip(&ERF_PIECES) {
        // SAFETY: a row of the table has as many numbers as a vector.
        *piece = unsafe { _mm512_loadu_ps(numbers.as_ptr()) };
    }
    let (half, root) = (_mm512_set1_ps(0.5), _mm512_set1_ps(FRAC_1_SQRT_2));
    let one = |x: __m512| {
        let sum = erf(_mm512_mul_ps(x, root), &pieces);
        let scaled = _mm512_mul_ps(x, half);
        _mm512_fmadd_ps(scaled, sum, scaled)
    };
    let (chunks, rest) = values.as_chunks_mut::<LANES>();
    for chunk in chunks {
        // SAFETY: a chunk has as many numbers as a vector.
        unsafe { _mm512_storeu_ps(chunk.as_mut_ptr(), one(_mm512_loadu_ps(chunk.as_ptr()))) };
    }
    if !rest.is_empty() {
        let mut chunk = [0.0; LANES];
        chunk[..rest.len()].copy_from_slice(rest);
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(chunk.as_mut_ptr(), one(_mm512_loadu_ps(chunk.as_ptr()))) };
        rest.copy_from_slice(&chunk[..rest.len()]);
    }
}

#[target_feature(enable = "avx512f")]
fn erf(x: __m512, pieces: &[__m512; ERF_PIECES.len()]) -> __m512 {
    /// Of the third operand's bits those that are set are taken from the second, else from the first.
    const CHOOSE: i32 = 0xd8;
    let (bits, sign) = (_mm512_castps_si512(x), _mm512_set1_epi32(i32::MIN));
    let size = _mm512_castsi512_ps(_mm512_andnot_si512(sign, bits));
    // What is no number stays none: the second operand is taken then.
    let bounded = _mm512_min_ps(_mm512_set1_ps(ERF_END), size);
    let quarters = _mm512_set1_ps(QUARTERS);
    let piece = _mm512_add_ps(bounded, quarters);
    let d = _mm512_sub_ps(bounded, _mm512_sub_ps(piece, quarters));
    let piece = _mm512_castps_si512(piece);
    let mut sum = _mm512_permutexvar_ps(piece, pieces[ERF_PIECES.len() - 1]);
    for coefficients in pieces[..ERF_PIECES.len() - 1].iter().rev() {
        sum = _mm512_fmadd_ps(sum, d, _mm512_permutexvar_ps(piece, *coefficients));
    }
    let value = _mm512_castps_si512(_mm512_add_ps(sum, d));
    _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<CHOOSE>(value, bits, sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_what_it_is_in_f64() {
        if !is_x86_feature_detected!("avx512f") {
            return;
        }
        let exact = |x: f64| 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2));
        let mut values: Vec<f32> = (-60_000..60_001).map(|at| at as f32 * 1e-4).collect();
        values.extend([0.0, -0.0, 1e-40, 1e-20, -1e-20, 88.0, -88.0, 3e38, f32::INFINITY]);
        let given = values.clone();
        // SAFETY: the instructions are there.
        unsafe { gelu(&mut values) };
        for (found, x) in values.iter().zip(&given) {
            let (found, x) = (f64::from(*found), f64::from(*x));
            // The error function is up to two units of the last place of 1 off.
            assert!(
                (found - exact(x)).abs() <= 1.3e-7 * x.abs() || found == exact(x),
                "{x}: {found}"
            );
        }
        let mut none = [f32::NAN];
        // SAFETY: as above.
        unsafe { gelu(&mut none) };
        assert!(none[0].is_nan());
    }
}
