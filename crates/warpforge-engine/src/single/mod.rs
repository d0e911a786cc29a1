//! Kernels of ops that stand alone: they read or write places that only the values say, or whole pieces of memory.
#![allow(unsafe_code)]

mod gather;
mod index;
mod moving;
mod transposing;
mod window;

use std::sync::Arc;

use warpforge_hlo::ir::Function;

use crate::kernels::{Cost, Kernel};

/// The kernel of a function of one op, where there is one.
pub(crate) fn recognize(function: &Function, cost: Cost) -> Option<Arc<dyn Kernel>> {
    gather::recognize(function, cost)
        .map(|kernel| Arc::new(kernel) as Arc<dyn Kernel>)
        .or_else(|| moving::recognize(function, cost).map(|kernel| Arc::new(kernel) as _))
        .or_else(|| window::recognize(function, cost).map(|kernel| Arc::new(kernel) as _))
}

/// The kernel of a function of ops that only place elements, where it is better than a loop.
pub(crate) fn recognize_placing(function: &Function, cost: Cost) -> Option<Arc<dyn Kernel>> {
    transposing::recognize(function, cost).map(|kernel| Arc::new(kernel) as _)
}

/// Where threads read and where each writes a part of its own.
#[derive(Clone, Copy)]
struct Memory<T> {
    from: *const T,
    to: *mut T,
}

// SAFETY: what is read is not written meanwhile; each element of the result is written by one thread.
unsafe impl<T> Sync for Memory<T> {}
