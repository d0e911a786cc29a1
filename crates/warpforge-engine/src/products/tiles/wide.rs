//! Numbers that become f32 when they are read: one by one, or sixteen at a time.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m512, __mmask16};

#[cfg(target_arch = "x86_64")]
use super::rows::vectors;
use crate::loops::narrow::{from_bf16, from_f16};

/// A number that can be widened.
pub(super) trait Wide: Copy {
    fn wide(self) -> f32;

    /// Those of sixteen that follow one another which the mask names; the others are 0.
    ///
    /// # Safety
    ///
    /// They are there, and the machine has 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    unsafe fn sixteen(from: *const Self, mask: __mmask16) -> __m512;
}

impl Wide for f32 {
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn sixteen(from: *const Self, mask: __mmask16) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { vectors::load(from, mask) }
    }
}

/// The bits of a bf16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Bf16(u16);

impl Wide for Bf16 {
    #[inline(always)]
    fn wide(self) -> f32 {
        from_bf16(self.0)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn sixteen(from: *const Self, mask: __mmask16) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { vectors::load_bf16(from.cast(), mask) }
    }
}

/// The bits of an f16.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct F16(u16);

impl Wide for F16 {
    #[inline(always)]
    fn wide(self) -> f32 {
        from_f16(self.0)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn sixteen(from: *const Self, mask: __mmask16) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { vectors::load_f16(from.cast(), mask) }
    }
}
