//! The gradient of a convolution's kernel by tiles, with fewer multiplications, where the window and the machine allow that.
#![allow(unsafe_code)]

use std::sync::Arc;

use warpforge_tensor::DType;

use super::form::{self, image};
use super::{Convolution, Direction};
use crate::EngineError;
use crate::choices::Maker;
use crate::kernels::{Cost, Kernel, Scratch};
use crate::loops::Isa;
use crate::observe::{Phase, Phases};
use crate::pool::Pool;
use crate::products::Arithmetic;
use crate::products::tiles::{GradientOperands, KernelGradient, has_matrix_unit};

/// Features of input and result at least, by rules: with fewer the sums take as long as the multiplications that they save.
const LEAST_FEATURES: usize = 128;

/// The gradient as tiles compute it, if they do.
fn gradient(convolution: &Convolution, arithmetic: Arithmetic) -> Option<KernelGradient> {
    let Convolution { direction, dtypes, input, kernel, result, strides, dilations, .. } =
        convolution;
    let vectors = Isa::usable() == Isa::Avx512 && !has_matrix_unit();
    let wanted = arithmetic != Arithmetic::Plain && convolution.by != Some(Maker::Library);
    if *direction != Direction::Kernel || !vectors || !wanted || *dtypes != [DType::F32; 3] {
        return None;
    }
    let moves_by_one = [strides, dilations].iter().all(|steps| **steps == [1, 1]);
    let [(_, by_result), (_, by_input), (3, by_line), (3, by_pixel)] = result[..] else {
        return None;
    };
    let (input, gradient) = (image(input)?, image(kernel)?);
    let least = match convolution.by {
        Some(Maker::Tiles) => form::LEAST_FEATURES,
        _ => LEAST_FEATURES,
    };
    let few = input.features.min(gradient.features) < least;
    if !moves_by_one || few || !convolution.tails.is_empty() {
        return None;
    }
    let low = |at: usize| usize::try_from(convolution.padding.get(at)?.0).ok();
    let distances = [by_result, by_input, by_line, by_pixel];
    KernelGradient::new(input, gradient, [low(0)?, low(1)?], distances)
}

/// Whether tiles take the convolution as the gradient of a kernel.
pub(super) fn takes(convolution: &Convolution, arithmetic: Arithmetic) -> bool {
    gradient(convolution, arithmetic).is_some()
}

/// Bytes that a launch needs for a while, where tiles take it.
pub(super) fn bytes(convolution: &Convolution, arithmetic: Arithmetic) -> Option<usize> {
    Some(gradient(convolution, arithmetic)?.bytes())
}

/// The kernel.
pub(crate) struct TiledKernelGradient {
    gradient: KernelGradient,
    /// Operands of the cluster, input and the result's gradient, and where in them the first element lies, in bytes.
    operands: [(usize, isize); 2],
    scratch: Arc<Scratch>,
    phases: Phases,
    cost: Cost,
}

impl TiledKernelGradient {
    pub(crate) fn new(
        convolution: &Convolution,
        arithmetic: Arithmetic,
        scratch: &Arc<Scratch>,
        phases: Phases,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let Some(gradient) = gradient(convolution, arithmetic) else {
            return Err(EngineError::Unsupported("a gradient that tiles do not take".into()));
        };
        scratch.reserve(gradient.bytes());
        let bytes = |at: usize| convolution.offsets[at] * size_of::<f32>() as isize;
        let operands = [0, 1].map(|at| (convolution.operands[at], bytes(at)));
        let cost = Cost { flops: gradient.flops(), ..cost };
        Ok(Self { gradient, operands, scratch: Arc::clone(scratch), phases, cost })
    }
}

/// What the tasks of a launch share.
struct Launch(GradientOperands);

impl Launch {
    fn operands(&self) -> &GradientOperands {
        &self.0
    }
}

// SAFETY: every number of the room and of the result is written by one task of a step, and read in steps behind it.
unsafe impl Sync for Launch {}

impl Kernel for TiledKernelGradient {
    fn backend(&self) -> &'static str {
        "winograd"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn phases(&self) -> Option<&Phases> {
        Some(&self.phases)
    }

    fn reads(&self, input: usize) -> bool {
        self.operands.iter().any(|(operand, _)| *operand == input)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let Self { gradient, phases, .. } = self;
        let room = self.scratch.take();
        let [input, result] =
            self.operands.map(|(operand, offset)| inputs[operand].wrapping_offset(offset));
        let launch =
            Launch(GradientOperands { input, result, room: room.pointer(), out: outputs[0] });
        for chunk in 0..gradient.chunks() {
            pool.run(gradient.groups(chunk), &|group| {
                // SAFETY: the caller's promise; the room is as large as was reserved; the machine has the vectors.
                phases.timed(Phase::Packing, || unsafe {
                    gradient.spread(launch.operands(), chunk, group);
                });
            });
            pool.run(gradient.products(), &|task| {
                // SAFETY: as above; the chunk's sums are made.
                phases.timed(Phase::Products, || unsafe {
                    gradient.multiply(launch.operands(), chunk, task);
                });
            });
        }
        // SAFETY: as above; all pixels were seen.
        let exact = unsafe { gradient.is_uneven(launch.operands()) };
        pool.run(gradient.tiles(), &|task| {
            // SAFETY: as above; all chunks are multiplied.
            phases.timed(Phase::Products, || unsafe {
                gradient.finish(launch.operands(), exact, task);
            });
        });
        Ok(())
    }
}
