//! Chains with their products by the vendor library: each thread works on blocks of rows by itself.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, PoisonError};

use warpforge_onednn::Threadpool;

use super::{Between, Chain, Source};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::library::failed;
use crate::loops::CompiledLoop;
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::products::{Library, Rows};

/// What one thread works with.
struct Worker {
    first: Library,
    second: Library,
    /// What the first product makes of a block, and what the loop makes of that.
    between: [Buffer; 2],
}

/// The kernel.
pub(crate) struct LibraryChain {
    /// The products for a block of rows, and where those of each block are.
    first: Rows,
    second: Rows,
    kernel: CompiledLoop,
    /// Constants of the loop, behind its operands.
    constants: Vec<Buffer>,
    /// Where the operands of each part come from.
    sources: [Vec<Source>; 3],
    /// Elements of a block.
    elements: usize,
    /// Bytes of an element between the parts.
    bytes: [usize; 2],
    blocks: usize,
    tasks: usize,
    workers: Mutex<Vec<Worker>>,
    cost: Cost,
}

/// The memory of one run.
struct Memory<'a> {
    inputs: &'a [*const u8],
    output: *mut u8,
}

// SAFETY: inputs are only read; each task writes rows of its own.
unsafe impl Sync for Memory<'_> {}

impl LibraryChain {
    /// Makes a chain ready for so many threads.
    pub(crate) fn new(chain: &Chain, threads: usize, cost: Cost) -> Result<Self, EngineError> {
        let unsupported = |what: &str| EngineError::Unsupported(what.into());
        let ([before], [after], false) =
            (chain.firsts.as_slice(), chain.seconds.as_slice(), chain.is_summed())
        else {
            return Err(unsupported("a chain of more than two products by the library"));
        };
        let uneven = || unsupported("a chain with summands at uneven distances");
        let products = [&before.product, &after.link.product];
        let first = Rows::new(products[0], chain.block).ok_or_else(uneven)?;
        let second = Rows::new(products[1], chain.block).ok_or_else(uneven)?;
        let Between { count, height, width } = chain.between();
        let elements = chain.block * width;
        let bytes = [products[0].dtypes[2].bytes(), products[1].dtypes[0].bytes()];
        let alone = Threadpool::new(Arc::new(Pool::single()) as _);
        let alone = Arc::new(alone.map_err(|error| failed(&error))?);
        let mut workers = Vec::with_capacity(threads);
        for _ in 0..threads.max(1) {
            workers.push(Worker {
                first: Library::new(&first.product, &alone, None, cost)?,
                second: Library::new(&second.product, &alone, None, cost)?,
                between: bytes.map(|bytes| Buffer::new(elements * bytes)),
            });
        }
        let blocks = height / chain.block;
        let constants = chain.rows.constants.iter();
        Ok(Self {
            constants: constants.map(|tensor| Buffer::from_bytes(tensor.bytes())).collect(),
            kernel: CompiledLoop::in_parts(&chain.rows.kernel),
            sources: [&before.sources, &chain.row_sources, &after.link.sources].map(Clone::clone),
            elements,
            bytes,
            blocks,
            tasks: blocks * count,
            workers: Mutex::new(workers),
            cost,
            first,
            second,
        })
    }

    /// One block of rows.
    ///
    /// # Safety
    ///
    /// Memory is as the chain says, and nobody else writes these rows.
    unsafe fn block(
        &self,
        worker: &Worker,
        pool: &Pool,
        memory: &Memory<'_>,
        task: usize,
    ) -> Result<(), EngineError> {
        let (number, row) = (task / self.blocks, task % self.blocks * self.first.rows());
        let [scores, weights] = worker.between.each_ref().map(Buffer::pointer);
        let operands = |part: usize, before: *const u8| -> Vec<*const u8> {
            let each = |source: &Source| match source {
                Source::Input(input) => memory.inputs[*input],
                Source::First(_) | Source::Rows(_) => before,
            };
            self.sources[part].iter().map(each).collect()
        };
        let nothing = std::ptr::null();
        // SAFETY: the caller's promise; the products' pointers lead to the rows of this block, those between the parts to
        // room for a block.
        unsafe {
            let given = self.first.pointers(&operands(0, nothing), number, row, None);
            worker.first.launch(pool, &given, &[scores])?;
            // The loop counts elements from the first of all blocks.
            let first = task * self.elements;
            let shifted = scores.wrapping_sub(first * self.bytes[0]).cast_const();
            let mut given = operands(1, shifted);
            given.extend(self.constants.iter().map(|constant| constant.pointer().cast_const()));
            let made = weights.wrapping_sub(first * self.bytes[1]);
            self.kernel.run_part(first..first + self.elements, &given, &[made]);
            let given = self.second.pointers(&operands(2, nothing), number, row, Some(weights));
            let output = memory.output.offset(self.second.result(number, row));
            worker.second.launch(pool, &given, &[output])
        }
    }
}

impl Kernel for LibraryChain {
    fn backend(&self) -> &'static str {
        "chain"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn held_bytes(&self) -> usize {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |worker: &Worker| {
            let between: usize = worker.between.iter().map(Buffer::bytes).sum();
            between + worker.first.held_bytes() + worker.second.held_bytes()
        };
        workers.iter().map(of).sum()
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let memory = Memory { inputs, output: outputs[0] };
        let failure: Mutex<Option<EngineError>> = Mutex::new(None);
        let fail = |error| {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        };
        pool.run(self.tasks, &|task| {
            let worker = self.workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(worker) = worker else {
                fail(EngineError::Threads("more threads than a chain was made for".into()));
                return;
            };
            // SAFETY: the caller's promise; each task has rows of its own.
            if let Err(error) = unsafe { self.block(&worker, pool, &memory, task) } {
                fail(error);
            }
            self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
