//! Kernels of ops that stand alone: they read or write places that only the values say, or whole pieces of memory.
#![allow(unsafe_code)]

mod arithmetic;
mod choosing;
mod gather;
mod greatest;
mod index;
mod moving;
mod scatter;
mod selecting;
mod sort;
mod transposing;
mod window;

use std::sync::Arc;

use warpforge_hlo::ir::{Function, OpKind};

use crate::kernels::{Cost, Kernel};

/// The kernel of a function of one op, where there is one.
pub(crate) fn recognize(function: &Function, cost: Cost) -> Option<Arc<dyn Kernel>> {
    match &function.body.ops.first()?.kind {
        OpKind::Gather(_) => shared(gather::recognize(function, cost)),
        OpKind::Reduce { .. } => shared(greatest::recognize(function, cost)),
        OpKind::Scatter(_) => shared(scatter::recognize(function, cost)),
        OpKind::Sort { .. } => shared(sort::recognize(function, cost)),
        OpKind::ChloTopK { .. } => shared(choosing::recognize(function, cost)),
        OpKind::ReduceWindow(_) => shared(window::recognize(function, cost)),
        OpKind::SelectAndScatter(_) => shared(selecting::recognize(function, cost)),
        _ => shared(moving::recognize(function, cost)),
    }
}

fn shared<K: Kernel + 'static>(kernel: Option<K>) -> Option<Arc<dyn Kernel>> {
    kernel.map(|kernel| Arc::new(kernel) as _)
}

/// The kernel of a function of ops that only place elements, where it is better than a loop.
pub(crate) fn recognize_placing(function: &Function, cost: Cost) -> Option<Arc<dyn Kernel>> {
    shared(transposing::recognize(function, cost))
}

/// Where threads read and where each writes a part of its own.
#[derive(Clone, Copy)]
struct Memory<T> {
    from: *const T,
    to: *mut T,
}

// SAFETY: what is read is not written meanwhile; each element of the result is written by one thread.
unsafe impl<T> Sync for Memory<T> {}

/// The operands and results of a launch, for threads that each write results of their own.
#[derive(Clone, Copy)]
struct Launched<'a> {
    inputs: &'a [*const u8],
    outputs: &'a [*mut u8],
}

// SAFETY: inputs are only read; each element of the results is written by one thread.
unsafe impl Sync for Launched<'_> {}
