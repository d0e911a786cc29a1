//! A loop kernel ready to run: by machine code of its own where there is some, else instruction by instruction.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use warpforge_codegen::ir::{Extent, LoopKernel, Spread};
use warpforge_codegen::{Generated, Unsupported, Writes};

use super::columns;
use super::machine::Machine;
use super::trial::Trial;
use crate::caches;
use crate::plan::Buffer;
use crate::pool::Pool;

/// Elements that a thread takes at a time at least, where rows do not say otherwise.
const GRAIN: usize = 4096;

/// The kernel.
#[derive(Debug)]
pub(crate) struct CompiledLoop {
    kernel: LoopKernel,
    code: Result<Arc<Code>, Unsupported>,
    /// Of a kernel that reduces along columns, what is done to its elements.
    elements: Option<Arc<Code>>,
}

/// Machine code for a kernel.
#[derive(Debug)]
struct Code {
    first: Generated,
    /// Where results do not stay in caches: code that writes them in another way, and which of the two is the faster here.
    second: Option<(Generated, Trial)>,
}

impl Code {
    fn new(kernel: &LoopKernel, large: bool) -> Result<Self, Unsupported> {
        if !large {
            return Ok(Self { first: Generated::new(kernel, Writes::Near)?, second: None });
        }
        let through = Generated::new(kernel, Writes::Through)?;
        let first = Generated::new(kernel, Writes::Past)?;
        Ok(Self { first, second: Some((through, Trial::new())) })
    }

    /// Code for a kernel: the same for equal ones, as the layers of a model have them.
    fn of(kernel: &LoopKernel, large: bool) -> Result<Arc<Self>, Unsupported> {
        /// Kernels that are remembered at most; then all are forgotten.
        const MOST: usize = 1024;
        static MADE: Mutex<BTreeMap<String, Weak<Code>>> = Mutex::new(BTreeMap::new());
        let key = format!("{large} {kernel:?}");
        let known =
            MADE.lock().unwrap_or_else(PoisonError::into_inner).get(&key).and_then(Weak::upgrade);
        if let Some(code) = known {
            return Ok(code);
        }
        let code = Arc::new(Self::new(kernel, large)?);
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= MOST {
            made.clear();
        }
        made.insert(key, Arc::downgrade(&code));
        Ok(code)
    }

    /// Runs the whole of it in one of the ways.
    fn run(&self, run: impl FnOnce(&Generated)) {
        match &self.second {
            None => run(&self.first),
            Some((second, trial)) => {
                trial.run(|way| run(if way == 0 { &self.first } else { second }));
            }
        }
    }
}

/// The memory of one run.
struct Memory<'a> {
    inputs: &'a [*const u8],
    outputs: &'a [*mut u8],
}

// SAFETY: inputs are only read; ranges write disjoint parts of the outputs.
unsafe impl Sync for Memory<'_> {}

impl CompiledLoop {
    /// Makes code for a kernel, if that is possible.
    pub(crate) fn new(kernel: &LoopKernel) -> Self {
        let rows = kernel.row.map_or(0, |row| kernel.elements / row.max(1));
        let written: usize = kernel
            .outputs
            .iter()
            .map(|output| match output.extent {
                Extent::Element => kernel.elements * output.dtype.bytes(),
                Extent::Row => rows * output.dtype.bytes(),
            })
            .sum();
        Self::of(kernel, written > caches::last_bytes() / 2)
    }

    /// The same for a kernel whose results are read before they leave the caches, however many there are: parts of it are
    /// worked on one after the other, all in the same place.
    pub(crate) fn in_parts(kernel: &LoopKernel) -> Self {
        Self::of(kernel, false)
    }

    /// Makes code for results that stay in caches, or are too `large` for that.
    fn of(kernel: &LoopKernel, large: bool) -> Self {
        let elements = columns::element_part(kernel);
        let elements = elements.and_then(|part| Code::of(&part, false).ok());
        Self { code: Code::of(kernel, large), elements, kernel: kernel.clone() }
    }

    /// What takes it, in one word.
    pub(crate) fn backend(&self) -> &'static str {
        match (&self.code, &self.elements) {
            (Err(_), None) => "loop",
            _ => "generated",
        }
    }

    fn machine(&self) -> Machine<'_> {
        let elements = self.elements.as_ref().map(|code| &code.first);
        Machine { kernel: &self.kernel, elements }
    }

    /// Runs it over its whole domain.
    ///
    /// # Safety
    ///
    /// `inputs` and `outputs` have one pointer for each of the kernel's, to as many elements as its accesses reach, aligned
    /// to their types; nothing else writes the inputs or touches the outputs meanwhile, and no output overlaps an input, but
    /// for one that it [may overwrite](LoopKernel::may_overwrite), where it begins.
    pub(crate) unsafe fn run(&self, pool: &Pool, inputs: &[*const u8], outputs: &[*mut u8]) {
        let Ok(code) = &self.code else {
            let all = 0..self.kernel.elements;
            // SAFETY: the caller's promise.
            unsafe {
                let apart = self.apart(&all, inputs, outputs);
                self.machine().run(pool, &apart.inputs, outputs);
            }
            return;
        };
        let memory = &Memory { inputs, outputs };
        let grain = match self.kernel.row.map(|row| row.max(1)) {
            Some(row) => row * GRAIN.div_ceil(row),
            None => GRAIN,
        };
        code.run(|code| {
            pool.run_ranges(self.kernel.elements, grain, 4, &|range| {
                // Taken whole, so that it is the promise about it that counts.
                let memory: &Memory<'_> = memory;
                // SAFETY: the caller's promise; ranges do not overlap and hold whole rows.
                unsafe { code.run_part(range, memory.inputs, memory.outputs) };
            });
        });
    }

    /// Runs a part of the domain, whole rows where the kernel reduces, on this thread.
    ///
    /// # Safety
    ///
    /// As for [`Self::run`], for the elements of the part alone: a pointer to an operand whose elements are visited in order
    /// leads to where its first element would be.
    pub(crate) unsafe fn run_part(
        &self,
        elements: Range<usize>,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            match &self.code {
                Ok(code) => code.first.run_part(elements, inputs, outputs),
                Err(_) => {
                    let apart = self.apart(&elements, inputs, outputs);
                    self.machine().run_part(elements, &apart.inputs, outputs);
                }
            }
        }
    }

    /// Runs some rows of so many elements on this thread, which lie at a distance from one another in all outputs and in some
    /// operands: pointers to those lead to the first of these rows.
    ///
    /// # Safety
    ///
    /// As for [`Self::run_part`], but for what the pointers lead to; operands that lie so are visited in order.
    pub(crate) unsafe fn run_rows(
        &self,
        rows: Range<usize>,
        width: usize,
        inputs: &[*const u8],
        outputs: &[*mut u8],
        spread: &Spread<'_>,
    ) {
        let code = self.code.as_ref().ok().map(|code| &code.first);
        if let Some(code) = code.filter(|code| code.takes_rows(width)) {
            // SAFETY: the caller's promise.
            unsafe { code.run_rows(rows, inputs, outputs, spread) };
            return;
        }
        let first = rows.start;
        let together = if spread.distance == width { rows.len() } else { 1 };
        for row in rows.step_by(together.max(1)) {
            // Where all rows would begin if they followed one another up to where this one is.
            let moved = |bytes: usize| {
                (((row - first) * spread.distance) as isize - (row * width) as isize)
                    * bytes as isize
            };
            let mut here = inputs.to_vec();
            for access in self.kernel.inputs.iter().filter(|access| spread.inputs[access.operand]) {
                here[access.operand] =
                    inputs[access.operand].wrapping_offset(moved(access.dtype.bytes()));
            }
            let written = outputs.iter().zip(&self.kernel.outputs);
            let written: Vec<*mut u8> =
                written.map(|(to, info)| to.wrapping_offset(moved(info.dtype.bytes()))).collect();
            // SAFETY: the caller's promise, for these rows.
            unsafe { self.run_part(row * width..(row + together) * width, &here, &written) };
        }
    }

    /// The inputs, with copies of the elements of those in whose places outputs are written: machine code reads elements
    /// before it writes them there, single instructions may not.
    ///
    /// # Safety
    ///
    /// As for [`Self::run_part`].
    unsafe fn apart(
        &self,
        elements: &Range<usize>,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Apart {
        let mut apart = Apart { inputs: inputs.to_vec(), _copies: Vec::new() };
        for (operand, input) in apart.inputs.iter_mut().enumerate() {
            let is_over = |(output, to): (usize, &*mut u8)| {
                to.cast_const() == *input && self.kernel.may_overwrite(output, operand)
            };
            let Some(output) = outputs.iter().enumerate().position(is_over) else { continue };
            let bytes = self.kernel.outputs[output].dtype.bytes();
            let start = elements.start * bytes;
            // SAFETY: the caller's promise: elements of the operand lie where those of the output do.
            let copy = Buffer::from_bytes(unsafe {
                std::slice::from_raw_parts(input.wrapping_add(start), elements.len() * bytes)
            });
            *input = copy.pointer().cast_const().wrapping_sub(start);
            apart._copies.push(copy);
        }
        apart
    }
}

/// Inputs of which some are copies.
struct Apart {
    inputs: Vec<*const u8>,
    _copies: Vec<Buffer>,
}
