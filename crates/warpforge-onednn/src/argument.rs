//! The names of a primitive's operands.

use crate::sys;
use std::ffi::c_int;

/// One operand of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Argument {
    /// The (first) input.
    Src,
    /// The second input of a binary operation.
    Src1,
    /// The weights; of a matrix product, its right operand.
    Weights,
    /// The bias.
    Bias,
    /// The output.
    Dst,
    /// The gradient of the input, an output of backward primitives.
    DiffSrc,
    /// The gradient of the weights.
    DiffWeights,
    /// The gradient of the bias.
    DiffBias,
    /// The gradient of the output, an input of backward primitives.
    DiffDst,
    /// Memory that the primitive needs while it runs, of [`crate::Primitive::scratchpad_bytes`].
    Scratchpad,
    /// The mean, of a normalization.
    Mean,
    /// The variance, of a normalization.
    Variance,
    /// The factor, of a normalization.
    Scale,
    /// The summand, of a normalization.
    Shift,
    /// What a forward primitive leaves for its backward one.
    Workspace,
    /// The second operand of the binary post-op with this index in the list of post-ops.
    PostOp(usize),
    /// The quantization factors of an operand, f32 unless stated otherwise.
    Scales(Operand),
    /// The quantization zero points of an operand, s32 unless stated otherwise.
    ZeroPoints(Operand),
}

/// An operand that can be quantized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The (first) input.
    Src,
    /// The second input of a binary operation.
    Src1,
    /// The weights.
    Weights,
    /// The output.
    Dst,
}

impl Operand {
    /// The same among all operands.
    pub(crate) const fn argument(self) -> Argument {
        match self {
            Operand::Src => Argument::Src,
            Operand::Src1 => Argument::Src1,
            Operand::Weights => Argument::Weights,
            Operand::Dst => Argument::Dst,
        }
    }

    pub(crate) const fn code(self) -> c_int {
        match self {
            Operand::Src => sys::DNNL_ARG_SRC,
            Operand::Src1 => sys::DNNL_ARG_SRC_1,
            Operand::Weights => sys::DNNL_ARG_WEIGHTS,
            Operand::Dst => sys::DNNL_ARG_DST,
        }
    }
}

impl Argument {
    /// The operands that a primitive cannot run without when it has them.
    pub(crate) const REQUIRED: [Argument; 13] = [
        Argument::Src,
        Argument::Src1,
        Argument::Weights,
        Argument::Bias,
        Argument::Dst,
        Argument::DiffSrc,
        Argument::DiffWeights,
        Argument::DiffBias,
        Argument::DiffDst,
        Argument::Scratchpad,
        Argument::Scale,
        Argument::Shift,
        Argument::Workspace,
    ];

    pub(crate) fn code(self) -> c_int {
        match self {
            Argument::Src => sys::DNNL_ARG_SRC,
            Argument::Src1 => sys::DNNL_ARG_SRC_1,
            Argument::Weights => sys::DNNL_ARG_WEIGHTS,
            Argument::Bias => sys::DNNL_ARG_BIAS,
            Argument::Dst => sys::DNNL_ARG_DST,
            Argument::DiffSrc => sys::DNNL_ARG_DIFF_SRC,
            Argument::DiffWeights => sys::DNNL_ARG_DIFF_WEIGHTS,
            Argument::DiffBias => sys::DNNL_ARG_DIFF_BIAS,
            Argument::DiffDst => sys::DNNL_ARG_DIFF_DST,
            Argument::Scratchpad => sys::DNNL_ARG_SCRATCHPAD,
            Argument::Mean => sys::DNNL_ARG_MEAN,
            Argument::Variance => sys::DNNL_ARG_VARIANCE,
            Argument::Scale => sys::DNNL_ARG_SCALE,
            Argument::Shift => sys::DNNL_ARG_SHIFT,
            Argument::Workspace => sys::DNNL_ARG_WORKSPACE,
            // The list of post-ops is checked to be short before any such argument is used.
            Argument::PostOp(index) => {
                let place = c_int::try_from(index + 1).unwrap_or(c_int::MAX);
                sys::DNNL_ARG_ATTR_MULTIPLE_POST_OP_0.saturating_mul(place) | sys::DNNL_ARG_SRC_1
            }
            Argument::Scales(operand) => sys::DNNL_ARG_ATTR_SCALES | operand.code(),
            Argument::ZeroPoints(operand) => sys::DNNL_ARG_ATTR_ZERO_POINTS | operand.code(),
        }
    }
}
