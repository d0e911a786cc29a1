//! What goes with a primitive besides its operands: work fused behind it, quantization, precision, and how many threads
//! its implementation is chosen for. Plain data until a primitive is created; scratch memory is always the caller's.
#![allow(unsafe_code)]

use crate::algorithm::{Accumulation, BinaryKind, Eltwise, Fpmath};
use crate::argument::{Argument, Operand};
use crate::data_type::DataType;
use crate::error::{OnednnError, check, invalid};
use crate::memory::{MemoryDesc, array};
use crate::sys;
use std::ffi::c_int;
use std::ptr::null_mut;

/// The library takes no longer list of post-ops.
const POST_OPS_LIMIT: usize = 32;

/// A builder: each call adds one thing and gives the whole back.
#[derive(Debug, Clone, PartialEq)]
pub struct Attributes {
    post_ops: Vec<PostOp>,
    scales: Vec<Quantization>,
    zero_points: Vec<Quantization>,
    fpmath: Fpmath,
    fpmath_on_integers: bool,
    accumulation: Accumulation,
    deterministic: bool,
    threads: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum PostOp {
    Eltwise { algorithm: Eltwise, alpha: f32, beta: f32 },
    Sum { scale: f32 },
    Binary { algorithm: BinaryKind, operand: MemoryDesc },
}

#[derive(Debug, Clone, PartialEq)]
struct Quantization {
    operand: Operand,
    mask: u32,
    groups: Vec<usize>,
    data_type: DataType,
}

impl Default for Attributes {
    fn default() -> Self {
        Attributes::new()
    }
}

impl Attributes {
    /// Nothing fused, strict arithmetic, for as many threads as the process may use.
    pub fn new() -> Self {
        Attributes {
            post_ops: Vec::new(),
            scales: Vec::new(),
            zero_points: Vec::new(),
            fpmath: Fpmath::Strict,
            fpmath_on_integers: false,
            accumulation: Accumulation::Strict,
            deterministic: false,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        }
    }

    /// Applies a function to each element of the result.
    #[must_use]
    pub fn eltwise(mut self, algorithm: Eltwise, alpha: f32, beta: f32) -> Self {
        self.post_ops.push(PostOp::Eltwise { algorithm, alpha, beta });
        self
    }

    /// Adds what the output held before, times `scale`.
    #[must_use]
    pub fn sum(mut self, scale: f32) -> Self {
        self.post_ops.push(PostOp::Sum { scale });
        self
    }

    /// Combines each element of the result with one of another tensor, of the output's rank and with its sizes or 1.
    /// The tensor is the argument [`Argument::PostOp`] with this post-op's place in the list, see [`Self::post_ops`].
    #[must_use]
    pub fn binary(mut self, algorithm: BinaryKind, operand: MemoryDesc) -> Self {
        self.post_ops.push(PostOp::Binary { algorithm, operand });
        self
    }

    /// f32 factors for an operand, one for all elements (mask 0) or one for each index of the dimensions whose bits
    /// are set in the mask (bit 0 is the first dimension). The argument is [`Argument::Scales`].
    #[must_use]
    pub fn scales(self, operand: Operand, mask: u32) -> Self {
        self.grouped_scales(operand, mask, &[], DataType::F32)
    }

    /// As [`Self::scales`], one for each group of neighbours along the last two dimensions and of any type.
    #[must_use]
    pub fn grouped_scales(
        mut self,
        operand: Operand,
        mask: u32,
        groups: &[usize],
        data_type: DataType,
    ) -> Self {
        self.scales.push(Quantization { operand, mask, groups: groups.to_vec(), data_type });
        self
    }

    /// s32 zero points for an operand, as [`Self::scales`]. The argument is [`Argument::ZeroPoints`].
    #[must_use]
    pub fn zero_points(self, operand: Operand, mask: u32) -> Self {
        self.grouped_zero_points(operand, mask, &[], DataType::S32)
    }

    /// As [`Self::zero_points`], one for each group of neighbours along the last two dimensions and of any type.
    #[must_use]
    pub fn grouped_zero_points(
        mut self,
        operand: Operand,
        mask: u32,
        groups: &[usize],
        data_type: DataType,
    ) -> Self {
        self.zero_points.push(Quantization { operand, mask, groups: groups.to_vec(), data_type });
        self
    }

    /// Which narrower type f32 operands may be rounded to.
    #[must_use]
    pub fn fpmath(mut self, mode: Fpmath) -> Self {
        self.fpmath = mode;
        self
    }

    /// Whether the mode also holds for integer weights, which are then converted before they are multiplied.
    #[must_use]
    pub fn fpmath_on_integers(mut self, apply: bool) -> Self {
        self.fpmath_on_integers = apply;
        self
    }

    /// In which type sums are kept.
    #[must_use]
    pub fn accumulation(mut self, mode: Accumulation) -> Self {
        self.accumulation = mode;
        self
    }

    /// Whether every run on the same machine and threads must give the same bits.
    #[must_use]
    pub fn deterministic(mut self, value: bool) -> Self {
        self.deterministic = value;
        self
    }

    /// How many threads the implementation and its scratch memory are chosen for: those of the pool that will run it. A
    /// pool with more threads is refused when it runs.
    #[must_use]
    pub fn threads(mut self, count: usize) -> Self {
        self.threads = count.max(1);
        self
    }

    /// How many post-ops there are, which is the place of the next one.
    pub fn post_ops(&self) -> usize {
        self.post_ops.len()
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.threads
    }

    /// The second operands of binary post-ops.
    pub(crate) fn post_op_operands(&self) -> Vec<(Argument, MemoryDesc)> {
        let operands =
            self.post_ops.iter().enumerate().filter_map(|(index, post_op)| match post_op {
                PostOp::Binary { operand, .. } => Some((Argument::PostOp(index), operand.clone())),
                _ => None,
            });
        operands.collect()
    }

    /// Factors and zero points as flat tensors, as many as the operands' dimensions, masks and groups make.
    pub(crate) fn quantization_operands(
        &self,
        dims: impl Fn(Operand) -> Option<Vec<usize>>,
    ) -> Result<Vec<(Argument, MemoryDesc)>, OnednnError> {
        let scales = self.scales.iter().map(|scale| (Argument::Scales(scale.operand), scale));
        let zeros = self.zero_points.iter().map(|zero| (Argument::ZeroPoints(zero.operand), zero));
        let describe = |(argument, quantization): (Argument, &Quantization)| {
            let dims = dims(quantization.operand).unwrap_or_default();
            let count = quantization.count(&dims);
            Ok((argument, MemoryDesc::row_major(quantization.data_type, &[count])?))
        };
        scales.chain(zeros).map(describe).collect()
    }

    /// The library's form.
    pub(crate) fn build(&self) -> Result<RawAttributes, OnednnError> {
        let mut raw = null_mut();
        // SAFETY: writes one handle.
        let status = unsafe { sys::dnnl_primitive_attr_create(&mut raw) };
        check("dnnl_primitive_attr_create", status, String::new)?;
        let built = RawAttributes(raw);
        let request = || format!("{self:?}");
        let post_ops = self.build_post_ops()?;
        // SAFETY: a live handle and, below, numbers and live handles of the same library.
        unsafe {
            check(
                "dnnl_primitive_attr_set_scratchpad_mode",
                sys::dnnl_primitive_attr_set_scratchpad_mode(raw, sys::dnnl_scratchpad_mode_user),
                request,
            )?;
            let on_integers = c_int::from(self.fpmath_on_integers);
            check(
                "dnnl_primitive_attr_set_fpmath_mode_v2",
                sys::dnnl_primitive_attr_set_fpmath_mode_v2(raw, self.fpmath.code(), on_integers),
                request,
            )?;
            check(
                "dnnl_primitive_attr_set_accumulation_mode",
                sys::dnnl_primitive_attr_set_accumulation_mode(raw, self.accumulation.code()),
                request,
            )?;
            check(
                "dnnl_primitive_attr_set_deterministic",
                sys::dnnl_primitive_attr_set_deterministic(raw, c_int::from(self.deterministic)),
                request,
            )?;
            if !self.post_ops.is_empty() {
                let status = sys::dnnl_primitive_attr_set_post_ops(raw, post_ops.0);
                check("dnnl_primitive_attr_set_post_ops", status, request)?;
            }
        }
        for scale in &self.scales {
            scale.apply(
                "dnnl_primitive_attr_set_scales",
                raw,
                sys::dnnl_primitive_attr_set_scales,
            )?;
        }
        for zero in &self.zero_points {
            zero.apply(
                "dnnl_primitive_attr_set_zero_points",
                raw,
                sys::dnnl_primitive_attr_set_zero_points,
            )?;
        }
        Ok(built)
    }

    pub(crate) fn build_post_ops(&self) -> Result<RawPostOps, OnednnError> {
        let request = || format!("{:?}", self.post_ops);
        if self.post_ops.len() > POST_OPS_LIMIT {
            let reason = format!("at most {POST_OPS_LIMIT} post-ops");
            return Err(invalid("Attributes", reason, format!("{} post-ops", self.post_ops.len())));
        }
        let mut raw = null_mut();
        // SAFETY: writes one handle.
        check("dnnl_post_ops_create", unsafe { sys::dnnl_post_ops_create(&mut raw) }, String::new)?;
        let built = RawPostOps(raw);
        for post_op in &self.post_ops {
            // SAFETY: a live list, numbers, and a live descriptor that the library copies.
            let (call, status) = unsafe {
                match post_op {
                    PostOp::Eltwise { algorithm, alpha, beta } => (
                        "dnnl_post_ops_append_eltwise",
                        sys::dnnl_post_ops_append_eltwise(raw, algorithm.code(), *alpha, *beta),
                    ),
                    PostOp::Sum { scale } => (
                        "dnnl_post_ops_append_sum",
                        sys::dnnl_post_ops_append_sum(raw, *scale, 0, sys::dnnl_data_type_undef),
                    ),
                    PostOp::Binary { algorithm, operand } => (
                        "dnnl_post_ops_append_binary",
                        sys::dnnl_post_ops_append_binary(raw, algorithm.code(), operand.raw()),
                    ),
                }
            };
            check(call, status, request)?;
        }
        Ok(built)
    }
}

type SetQuantization = unsafe extern "C" fn(
    *mut sys::dnnl_primitive_attr,
    c_int,
    c_int,
    c_int,
    *const i64,
    c_int,
) -> c_int;

impl Quantization {
    /// How many numbers there are for an operand of these dimensions.
    fn count(&self, dims: &[usize]) -> usize {
        // Groups are those of the last dimensions.
        let ungrouped = dims.len().saturating_sub(self.groups.len());
        let along = |(axis, dim): (usize, &usize)| {
            let group = axis.checked_sub(ungrouped).and_then(|axis| self.groups.get(axis));
            if self.mask >> axis & 1 == 0 {
                1
            } else {
                dim.div_ceil(group.map_or(1, |group| *group.max(&1)))
            }
        };
        dims.iter().enumerate().map(along).product()
    }

    fn apply(
        &self,
        call: &'static str,
        attributes: *mut sys::dnnl_primitive_attr,
        set: SetQuantization,
    ) -> Result<(), OnednnError> {
        let request = || format!("{self:?}");
        let mask = c_int::try_from(self.mask)
            .map_err(|_| invalid("Attributes", "a mask has a bit for each dimension", request()))?;
        let groups = array(&self.groups);
        let pointer = groups.as_ref().map_or(std::ptr::null(), |array| array.as_ptr());
        // SAFETY: a live handle, and an array of MAX_RANK entries or none for a rank of 0.
        let status = unsafe {
            let rank = self.groups.len() as c_int;
            set(attributes, self.operand.code(), mask, rank, pointer, self.data_type.code())
        };
        check(call, status, request)
    }
}

/// Attributes in the library's form.
pub(crate) struct RawAttributes(pub(crate) *mut sys::dnnl_primitive_attr);

impl Drop for RawAttributes {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_primitive_attr_destroy(self.0) };
    }
}

/// A list of post-ops in the library's form.
pub(crate) struct RawPostOps(pub(crate) *mut sys::dnnl_post_ops);

impl Drop for RawPostOps {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_post_ops_destroy(self.0) };
    }
}
