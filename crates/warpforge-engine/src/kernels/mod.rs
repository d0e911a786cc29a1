//! What a plan launches: a kernel knows what it reads and writes and what that costs, not where it lies.
#![allow(unsafe_code)]

mod interpreted;
mod scratch;

use std::sync::Arc;

use warpforge_codegen::instructions;
use warpforge_hlo::ir::{Function, OpKind, ValueId};
use warpforge_tensor::DType;

use crate::EngineError;
use crate::chains::{Chain, TiledChain};
#[cfg(feature = "onednn")]
use crate::convolutions::LibraryConvolution;
use crate::convolutions::{Convolution, Direction, TiledConvolution, TiledKernelGradient};
use crate::fuse::Work;
use crate::loops::{CompiledLoop, Lowering};
use crate::observe::Phases;
use crate::pattern::sizes;
use crate::plan::{Buffer, Control, Settings, StepReport};
use crate::pool::Pool;
use crate::products::tiles::{FewRows, TiledBatch};
use crate::products::{Product, TiledProduct};
#[cfg(feature = "onednn")]
use crate::products::{is_for_library, tiles};

pub(crate) use interpreted::Interpreted;
pub(crate) use scratch::{Rooms, Scratch};

/// What a launch does at least: arithmetic, and bytes read and written once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Operations on numbers.
    pub flops: u64,
    /// Bytes of all operands and results.
    pub bytes: u64,
}

/// Something a plan launches.
pub(crate) trait Kernel: Send + Sync {
    /// What takes it, in one word: `loop`, `library`, `window`, ...; `reference` is the interpreter.
    fn backend(&self) -> &'static str;

    /// The least it has to do.
    fn cost(&self) -> Cost;

    /// Whether it multiplies numbers of f32 in parts, by the matrix unit for bf16.
    fn in_parts(&self) -> bool {
        false
    }

    /// Whether it reads an input when it is launched; one that it packed it does not.
    fn reads(&self, _: usize) -> bool {
        true
    }

    /// The input whose memory its only output may be: what is read of it is read before it is overwritten.
    fn overwrites(&self) -> Option<usize> {
        None
    }

    /// Bytes it keeps between launches: packed weights, room for intermediate numbers.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The time in the parts of its work since it was asked last, where it has such and counts.
    fn phases(&self) -> Option<&Phases> {
        None
    }

    /// What it launched itself in its last launch, where it is a plan with plans inside.
    fn launched(&self) -> Vec<StepReport> {
        Vec::new()
    }

    /// Computes the outputs from the inputs; returns when they are there.
    ///
    /// # Safety
    ///
    /// `inputs` and `outputs` lead to dense row-major tensors of the types the cluster's function states, aligned to their
    /// elements, but for what one product [hands over](crate::products::Handed) to the next; outputs overlap nothing else, but for the
    /// input that the kernel overwrites.
    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError>;
}

/// What kernels are made for.
pub(crate) struct Device {
    pub(crate) pool: Arc<Pool>,
    /// Room for launches.
    pub(crate) scratch: Arc<Scratch>,
    /// What holds in the plans of regions too.
    pub(crate) settings: Settings,
    #[cfg(feature = "onednn")]
    library: Arc<warpforge_onednn::Threadpool>,
}

impl Device {
    /// The processor, with these threads.
    pub(crate) fn new(pool: Arc<Pool>, settings: Settings) -> Result<Self, EngineError> {
        instructions::check().map_err(|error| EngineError::Input(error.to_string()))?;
        #[cfg(feature = "onednn")]
        let library = {
            crate::library::limit();
            let made = warpforge_onednn::Threadpool::new(Arc::clone(&pool) as _);
            Arc::new(made.map_err(|error| EngineError::Threads(error.to_string()))?)
        };
        Ok(Self {
            pool,
            scratch: Arc::new(Scratch::new()),
            settings,
            #[cfg(feature = "onednn")]
            library,
        })
    }

    /// The kernel that does a cluster's work, and why it is not the one meant for it where that is so. `fixed` leads to
    /// the inputs that never change.
    pub(crate) fn kernel(
        &self,
        function: &Function,
        work: &Work,
        fixed: &[Option<*const u8>],
    ) -> (Arc<dyn Kernel>, Option<String>) {
        let cost = Cost { flops: 0, bytes: traffic(function) };
        match work {
            Work::Loop(lowering) => (Arc::new(Loop::new(lowering, cost)), None),
            Work::Product(product) => {
                self.product(function, product, fixed, Cost { flops: product.flops(), ..cost })
            }
            Work::Interpreted(reason) => {
                (Arc::new(Interpreted::new(function, cost)), Some(reason.clone()))
            }
            Work::Convolution(convolution) => {
                let cost = Cost { flops: convolution.flops(), ..cost };
                self.convolution(function, convolution, fixed, cost)
            }
            Work::Chain(chain) => {
                let products = chain.products().map(Product::flops);
                let flops = products.fold(chain.rows.kernel.flops(), u64::saturating_add);
                self.chain(function, chain, Cost { flops, ..cost })
            }
            Work::Single(kernel) => (Arc::clone(kernel), None),
            Work::Control => self.control(function, fixed, cost),
            Work::Same => (Arc::new(Interpreted::new(function, cost)), None),
        }
    }

    fn control(
        &self,
        function: &Function,
        fixed: &[Option<*const u8>],
        cost: Cost,
    ) -> (Arc<dyn Kernel>, Option<String>) {
        match Control::new(function, &self.pool, self.settings, fixed, cost) {
            Ok(control) => {
                let reason = control.reason();
                (Arc::new(control), reason)
            }
            Err(error) => (Arc::new(Interpreted::new(function, cost)), Some(error.to_string())),
        }
    }

    /// The chain by tiles, where they take it.
    fn tiled_chain(&self, chain: &Chain, cost: Cost) -> Option<Arc<dyn Kernel>> {
        let threads = self.pool.threads();
        let phases = Phases::new(self.settings.observed);
        let arithmetic = self.settings.arithmetic;
        let made = TiledChain::new(chain, arithmetic, threads, &self.scratch, phases, cost).ok()?;
        Some(Arc::new(made))
    }

    /// The product by tiles, where they take it.
    fn tiled_product(
        &self,
        product: &Product,
        weights: Option<*const u8>,
        cost: Cost,
    ) -> Option<Arc<dyn Kernel>> {
        let phases = Phases::new(self.settings.observed);
        let (arithmetic, pool, scratch) = (self.settings.arithmetic, &self.pool, &self.scratch);
        if !product.batch.is_empty() {
            let made = TiledBatch::new(product, arithmetic, pool, scratch, phases, cost).ok()?;
            return Some(Arc::new(made));
        }
        let made = TiledProduct::new(product, arithmetic, weights, pool, scratch, phases, cost);
        Some(Arc::new(made.ok()?))
    }

    /// The product as streams, where it has few rows.
    fn few_rows(
        &self,
        product: &Product,
        weights: Option<*const u8>,
        cost: Cost,
    ) -> Option<Arc<dyn Kernel>> {
        let phases = Phases::new(self.settings.observed);
        Some(Arc::new(FewRows::new(product, weights, &self.pool, phases, cost).ok()?))
    }

    /// The convolution by tiles, where they take it.
    fn tiled_convolution(
        &self,
        convolution: &Convolution,
        weights: Option<*const u8>,
        cost: Cost,
    ) -> Option<Arc<dyn Kernel>> {
        let phases = Phases::new(self.settings.observed);
        let (arithmetic, pool, scratch) = (self.settings.arithmetic, &self.pool, &self.scratch);
        if convolution.direction == Direction::Kernel {
            let made =
                TiledKernelGradient::new(convolution, arithmetic, scratch, phases, cost).ok()?;
            return Some(Arc::new(made));
        }
        let made =
            TiledConvolution::new(convolution, arithmetic, weights, pool, scratch, phases, cost);
        Some(Arc::new(made.ok()?))
    }

    #[cfg(feature = "onednn")]
    fn product(
        &self,
        function: &Function,
        product: &Product,
        fixed: &[Option<*const u8>],
        cost: Cost,
    ) -> (Arc<dyn Kernel>, Option<String>) {
        let weights = fixed.get(product.operands[1]).copied().flatten();
        if let Some(few) = self.few_rows(product, weights, cost) {
            return (few, None);
        }
        let batch = !product.batch.is_empty();
        if (batch || weights.is_some() || tiles::worth_packing(product))
            && let Some(tiled) = self.tiled_product(product, weights, cost)
        {
            return (tiled, None);
        }
        if !is_for_library(product) {
            return match product.is_plain() {
                true => (Arc::new(Portable { product: product.clone(), cost }), None),
                false => {
                    let reason = "no kernel of this machine takes the product with what follows it";
                    (Arc::new(Interpreted::new(function, cost)), Some(reason.into()))
                }
            };
        }
        match crate::products::Library::new(product, &self.library, weights, cost) {
            Ok(library) => (Arc::new(library), None),
            Err(error) if product.is_plain() => {
                let portable = Portable { product: product.clone(), cost };
                (Arc::new(portable), Some(error.to_string()))
            }
            Err(error) => (Arc::new(Interpreted::new(function, cost)), Some(error.to_string())),
        }
    }

    fn convolution(
        &self,
        function: &Function,
        convolution: &Convolution,
        fixed: &[Option<*const u8>],
        cost: Cost,
    ) -> (Arc<dyn Kernel>, Option<String>) {
        let weights = fixed.get(convolution.operands[1]).copied().flatten();
        if let Some(tiled) = self.tiled_convolution(convolution, weights, cost) {
            return (tiled, None);
        }
        match self.library_convolution(convolution, weights, cost) {
            Ok(library) => (library, None),
            Err(error) => (Arc::new(Interpreted::new(function, cost)), Some(error.to_string())),
        }
    }

    #[cfg(feature = "onednn")]
    fn library_convolution(
        &self,
        convolution: &Convolution,
        weights: Option<*const u8>,
        cost: Cost,
    ) -> Result<Arc<dyn Kernel>, EngineError> {
        let made = LibraryConvolution::new(convolution, &self.library, weights, cost)?;
        Ok(Arc::new(made))
    }

    #[cfg(not(feature = "onednn"))]
    fn library_convolution(
        &self,
        _: &Convolution,
        _: Option<*const u8>,
        _: Cost,
    ) -> Result<Arc<dyn Kernel>, EngineError> {
        Err(EngineError::Unsupported("a convolution without the vendor library".into()))
    }

    #[cfg(feature = "onednn")]
    fn chain(
        &self,
        function: &Function,
        chain: &Chain,
        cost: Cost,
    ) -> (Arc<dyn Kernel>, Option<String>) {
        if let Some(tiled) = self.tiled_chain(chain, cost) {
            return (tiled, None);
        }
        match crate::chains::LibraryChain::new(chain, self.pool.threads(), cost) {
            Ok(library) => (Arc::new(library), None),
            Err(error) => (Arc::new(Interpreted::new(function, cost)), Some(error.to_string())),
        }
    }

    #[cfg(not(feature = "onednn"))]
    fn chain(
        &self,
        function: &Function,
        chain: &Chain,
        cost: Cost,
    ) -> (Arc<dyn Kernel>, Option<String>) {
        if let Some(tiled) = self.tiled_chain(chain, cost) {
            return (tiled, None);
        }
        let reason = "chains need the vendor library".to_owned();
        (Arc::new(Interpreted::new(function, cost)), Some(reason))
    }

    #[cfg(not(feature = "onednn"))]
    fn product(
        &self,
        _: &Function,
        product: &Product,
        fixed: &[Option<*const u8>],
        cost: Cost,
    ) -> (Arc<dyn Kernel>, Option<String>) {
        let weights = fixed.get(product.operands[1]).copied().flatten();
        let few = self.few_rows(product, weights, cost);
        if let Some(made) = few.or_else(|| self.tiled_product(product, weights, cost)) {
            return (made, None);
        }
        (Arc::new(Portable { product: product.clone(), cost }), None)
    }
}

/// Bytes of all arguments and results: what a kernel reads and writes once.
pub(crate) fn traffic(function: &Function) -> u64 {
    let bytes = |ty: &warpforge_hlo::Type| -> u64 {
        let Some(tensor) = ty.tensor() else { return 0 };
        let elements: usize = sizes(tensor).map_or(0, |sizes| sizes.iter().product());
        (elements * tensor.storage().bytes()) as u64
    };
    // Of a table only what is taken out of it is read.
    let taken = |value: ValueId| -> Option<u64> {
        let mut taken = None;
        for op in function.body.ops.iter().filter(|op| op.operands.contains(&value)) {
            let takes = matches!(op.kind, OpKind::Gather { .. } | OpKind::DynamicSlice { .. });
            if !takes || op.operands[1..].contains(&value) {
                return None;
            }
            taken = Some(taken.unwrap_or(0) + bytes(function.ty(op.results[0])));
        }
        taken
    };
    let read = |value: &ValueId| {
        let all = bytes(function.ty(*value));
        taken(*value).map_or(all, |taken| taken.min(all))
    };
    let arguments = function.body.arguments.iter().map(read);
    arguments.chain(function.results.iter().map(|result| bytes(&result.ty))).sum()
}

/// A loop kernel with its constants.
struct Loop {
    kernel: CompiledLoop,
    constants: Vec<Buffer>,
    cost: Cost,
}

impl Loop {
    fn new(lowering: &Lowering, cost: Cost) -> Self {
        let constants = lowering.constants.iter().map(|tensor| Buffer::from_bytes(tensor.bytes()));
        Self {
            constants: constants.collect(),
            cost: Cost { flops: lowering.kernel.flops(), ..cost },
            kernel: CompiledLoop::new(&lowering.kernel),
        }
    }
}

impl Kernel for Loop {
    fn backend(&self) -> &'static str {
        self.kernel.backend()
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let constants = self.constants.iter().map(|buffer| buffer.pointer().cast_const());
        let inputs: Vec<*const u8> = inputs.iter().copied().chain(constants).collect();
        // SAFETY: the caller's promise; constants are as large as the kernel was made for.
        unsafe { self.kernel.run(pool, &inputs, outputs) };
        Ok(())
    }
}

/// A product by neither tiles nor the library.
struct Portable {
    product: Product,
    cost: Cost,
}

impl Kernel for Portable {
    fn backend(&self) -> &'static str {
        "portable"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let [left, right] = self.product.operands;
        // SAFETY: the caller's promise.
        unsafe { self.product.run_portable(pool, inputs[left], inputs[right], outputs[0]) };
        Ok(())
    }
}

/// The bytes of a tensor of this type and shape.
pub(crate) fn tensor_bytes(dtype: DType, sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(dtype.bytes(), |product, size| product.checked_mul(*size))
}
