//! The algorithms that primitives and post-ops are told to compute.

use crate::sys;
use std::ffi::c_int;

/// A function of one element, with the parameters alpha and beta where it has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Eltwise {
    /// `max(x, 0)`, or `alpha * x` below 0.
    Relu,
    /// `x * (1 + erf(x / sqrt 2)) / 2`.
    GeluErf,
    /// GELU by its approximation with tanh.
    GeluTanh,
    /// Hyperbolic tangent.
    Tanh,
    /// `1 / (1 + exp(-x))`.
    Logistic,
    /// `exp(x)`.
    Exp,
    /// Natural logarithm.
    Log,
    /// `alpha * x + beta`.
    Linear,
    /// At least alpha, at most beta.
    Clip,
    /// `x / (1 + exp(-alpha * x))`.
    Swish,
    /// `x * x`.
    Square,
    /// Magnitude.
    Abs,
    /// Square root.
    Sqrt,
    /// `alpha * x^beta`.
    Pow,
    /// To the nearest integer, halves to even.
    Round,
    /// `alpha * (exp(x) - 1)` below 0.
    Elu,
    /// `log(1 + exp(alpha * x)) / alpha`.
    SoftRelu,
    /// `x * tanh(log(1 + exp(x)))`.
    Mish,
    /// `min(1, max(0, alpha * x + beta))`.
    HardSigmoid,
    /// `x` times the hard sigmoid.
    HardSwish,
}

impl Eltwise {
    pub(crate) const fn code(self) -> c_int {
        match self {
            Eltwise::Relu => sys::dnnl_eltwise_relu,
            Eltwise::GeluErf => sys::dnnl_eltwise_gelu_erf,
            Eltwise::GeluTanh => sys::dnnl_eltwise_gelu_tanh,
            Eltwise::Tanh => sys::dnnl_eltwise_tanh,
            Eltwise::Logistic => sys::dnnl_eltwise_logistic,
            Eltwise::Exp => sys::dnnl_eltwise_exp,
            Eltwise::Log => sys::dnnl_eltwise_log,
            Eltwise::Linear => sys::dnnl_eltwise_linear,
            Eltwise::Clip => sys::dnnl_eltwise_clip,
            Eltwise::Swish => sys::dnnl_eltwise_swish,
            Eltwise::Square => sys::dnnl_eltwise_square,
            Eltwise::Abs => sys::dnnl_eltwise_abs,
            Eltwise::Sqrt => sys::dnnl_eltwise_sqrt,
            Eltwise::Pow => sys::dnnl_eltwise_pow,
            Eltwise::Round => sys::dnnl_eltwise_round,
            Eltwise::Elu => sys::dnnl_eltwise_elu,
            Eltwise::SoftRelu => sys::dnnl_eltwise_soft_relu,
            Eltwise::Mish => sys::dnnl_eltwise_mish,
            Eltwise::HardSigmoid => sys::dnnl_eltwise_hardsigmoid,
            Eltwise::HardSwish => sys::dnnl_eltwise_hardswish,
        }
    }
}

/// A function of two elements; comparisons give 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryKind {
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
    GreaterOrEqual,
    Greater,
    LessOrEqual,
    Less,
    Equal,
    NotEqual,
}

impl BinaryKind {
    pub(crate) const fn code(self) -> c_int {
        match self {
            BinaryKind::Add => sys::dnnl_binary_add,
            BinaryKind::Sub => sys::dnnl_binary_sub,
            BinaryKind::Mul => sys::dnnl_binary_mul,
            BinaryKind::Div => sys::dnnl_binary_div,
            BinaryKind::Max => sys::dnnl_binary_max,
            BinaryKind::Min => sys::dnnl_binary_min,
            BinaryKind::GreaterOrEqual => sys::dnnl_binary_ge,
            BinaryKind::Greater => sys::dnnl_binary_gt,
            BinaryKind::LessOrEqual => sys::dnnl_binary_le,
            BinaryKind::Less => sys::dnnl_binary_lt,
            BinaryKind::Equal => sys::dnnl_binary_eq,
            BinaryKind::NotEqual => sys::dnnl_binary_ne,
        }
    }
}

/// How the elements along reduced dimensions become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReductionKind {
    Max,
    Min,
    Sum,
    Mul,
    Mean,
    /// `(sum |x|^p)^(1/p)`, with epsilon added to the sum.
    NormSum,
}

impl ReductionKind {
    pub(crate) const fn code(self) -> c_int {
        match self {
            ReductionKind::Max => sys::dnnl_reduction_max,
            ReductionKind::Min => sys::dnnl_reduction_min,
            ReductionKind::Sum => sys::dnnl_reduction_sum,
            ReductionKind::Mul => sys::dnnl_reduction_mul,
            ReductionKind::Mean => sys::dnnl_reduction_mean,
            ReductionKind::NormSum => sys::dnnl_reduction_norm_lp_sum,
        }
    }
}

/// How the elements in a window become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PoolingKind {
    /// The greatest; padding is never chosen.
    Max,
    /// The mean, padding counted as zeros.
    MeanWithPadding,
    /// The mean of what is inside.
    MeanWithoutPadding,
}

impl PoolingKind {
    pub(crate) const fn code(self) -> c_int {
        match self {
            PoolingKind::Max => sys::dnnl_pooling_max,
            PoolingKind::MeanWithPadding => sys::dnnl_pooling_avg_include_padding,
            PoolingKind::MeanWithoutPadding => sys::dnnl_pooling_avg_exclude_padding,
        }
    }
}

/// Whether f32 operands may be rounded to a narrower type before they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fpmath {
    /// Never.
    #[default]
    Strict,
    /// To bf16.
    Bf16,
    /// To f16.
    F16,
    /// To tf32.
    Tf32,
    /// To anything.
    Any,
}

impl Fpmath {
    pub(crate) const fn code(self) -> c_int {
        match self {
            Fpmath::Strict => sys::dnnl_fpmath_mode_strict,
            Fpmath::Bf16 => sys::dnnl_fpmath_mode_bf16,
            Fpmath::F16 => sys::dnnl_fpmath_mode_f16,
            Fpmath::Tf32 => sys::dnnl_fpmath_mode_tf32,
            Fpmath::Any => sys::dnnl_fpmath_mode_any,
        }
    }
}

/// In which type sums are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Accumulation {
    /// f32 for floating point (f64 for f64), s32 for integers.
    #[default]
    Strict,
    /// As strict, but partial sums may be stored in the output's type.
    Relaxed,
    /// Anything.
    Any,
    /// s32.
    S32,
    /// f32.
    F32,
    /// f16.
    F16,
}

impl Accumulation {
    pub(crate) const fn code(self) -> c_int {
        match self {
            Accumulation::Strict => sys::dnnl_accumulation_mode_strict,
            Accumulation::Relaxed => sys::dnnl_accumulation_mode_relaxed,
            Accumulation::Any => sys::dnnl_accumulation_mode_any,
            Accumulation::S32 => sys::dnnl_accumulation_mode_s32,
            Accumulation::F32 => sys::dnnl_accumulation_mode_f32,
            Accumulation::F16 => sys::dnnl_accumulation_mode_f16,
        }
    }
}
