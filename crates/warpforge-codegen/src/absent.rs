//! Where there is no code: other processors, and builds without it.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::ir::{LoopKernel, Spread};
use crate::{Unsupported, Writes};

/// Machine code for a kernel; there is none.
#[derive(Debug)]
pub enum Generated {}

impl Generated {
    /// Says that there is none.
    pub fn new(_: &LoopKernel, _: Writes) -> Result<Self, Unsupported> {
        Err(Unsupported("no machine code for this processor in this build".into()))
    }

    /// Nothing.
    ///
    /// # Safety
    ///
    /// It cannot be called.
    pub unsafe fn run_part(&self, _: Range<usize>, _: &[*const u8], _: &[*mut u8]) {
        match *self {}
    }

    /// Nothing.
    pub fn takes_rows(&self, _: usize) -> bool {
        match *self {}
    }

    /// Nothing.
    ///
    /// # Safety
    ///
    /// It cannot be called.
    pub unsafe fn run_rows(&self, _: Range<usize>, _: &[*const u8], _: &[*mut u8], _: &Spread<'_>) {
        match *self {}
    }
}
