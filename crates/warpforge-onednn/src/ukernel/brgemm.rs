//! The batch-reduce product.
#![allow(unsafe_code)]

use super::shape::{BrgemmPostOps, BrgemmShape};
use crate::error::{OnednnError, check, invalid};
use crate::library::refuse_saturated_sums;
use crate::sys;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::null_mut;

/// A generated micro-kernel. It is immutable, so threads share one.
pub struct Brgemm {
    raw: *mut sys::dnnl_brgemm,
    shape: BrgemmShape,
    post_ops: Option<BrgemmPostOps>,
    scratchpad_bytes: usize,
}

// SAFETY: nothing behind the handle changes after the kernel was generated.
unsafe impl Send for Brgemm {}
// SAFETY: as above; executions write only to memory that their callers name.
unsafe impl Sync for Brgemm {}

impl Brgemm {
    /// Generates a kernel. With `post_ops`, [`Self::execute_post_ops`] can end a chain of products.
    pub fn create(
        shape: &BrgemmShape,
        post_ops: Option<&BrgemmPostOps>,
    ) -> Result<Self, OnednnError> {
        let request = || format!("{shape:?} with {post_ops:?}");
        let size = |value: usize| {
            i64::try_from(value)
                .ok()
                .filter(|value| (1..=i64::from(i32::MAX)).contains(value))
                .ok_or_else(|| {
                    invalid("Brgemm::create", "sizes are at least 1 and below 2^31", request())
                })
        };
        let (m, n, k, batch) = (size(shape.m)?, size(shape.n)?, size(shape.k)?, size(shape.batch)?);
        let (lda, ldb, ldc) = (size(shape.lda)?, size(shape.ldb)?, size(shape.ldc)?);
        if shape.lda < shape.k || shape.ldc < shape.n {
            return Err(invalid("Brgemm::create", "rows overlap", request()));
        }
        refuse_saturated_sums("Brgemm::create", [shape.a, shape.b], request)?;
        let mut raw = null_mut();
        // SAFETY: numbers, and one handle that is written.
        let status = unsafe {
            let (a, b, c) = (shape.a.code(), shape.b.code(), shape.c.code());
            sys::dnnl_brgemm_create(&mut raw, m, n, k, batch, lda, ldb, ldc, a, b, c)
        };
        check("dnnl_brgemm_create", status, request)?;
        // Owned from here on, so that an error below frees it.
        let mut kernel =
            Brgemm { raw, shape: *shape, post_ops: post_ops.cloned(), scratchpad_bytes: 0 };
        // SAFETY: a live handle that nothing else has yet.
        unsafe {
            check(
                "dnnl_brgemm_set_add_C",
                sys::dnnl_brgemm_set_add_C(raw, c_int::from(shape.add_c)),
                request,
            )?;
        }
        if let Some(post_ops) = post_ops {
            kernel.set_post_ops(post_ops, size(post_ops.ldd)?)?;
        }
        // SAFETY: as above; the size is written after the kernel was finalized, as the library asks.
        unsafe {
            check("dnnl_brgemm_finalize", sys::dnnl_brgemm_finalize(raw), request)?;
            let status = sys::dnnl_brgemm_get_scratchpad_size(raw, &mut kernel.scratchpad_bytes);
            check("dnnl_brgemm_get_scratchpad_size", status, request)?;
            check("dnnl_brgemm_generate", sys::dnnl_brgemm_generate(raw), request)?;
        }
        Ok(kernel)
    }

    fn set_post_ops(&mut self, post_ops: &BrgemmPostOps, ldd: i64) -> Result<(), OnednnError> {
        let request = || format!("{post_ops:?}");
        if post_ops.ldd < self.shape.n {
            return Err(invalid("Brgemm::create", "rows overlap", request()));
        }
        let list = post_ops.attributes.build_post_ops()?;
        // SAFETY: live handles; the library copies the list.
        unsafe {
            let status = sys::dnnl_brgemm_set_post_ops(self.raw, ldd, post_ops.d.code(), list.0);
            check("dnnl_brgemm_set_post_ops", status, request)?;
            if post_ops.scale_a {
                check(
                    "dnnl_brgemm_set_A_scales",
                    sys::dnnl_brgemm_set_A_scales(self.raw, 0),
                    request,
                )?;
            }
            if let Some(for_each_column) = post_ops.scale_b {
                let mask = if for_each_column { 2 } else { 0 };
                check(
                    "dnnl_brgemm_set_B_scales",
                    sys::dnnl_brgemm_set_B_scales(self.raw, mask),
                    request,
                )?;
            }
            if post_ops.scale_d {
                check(
                    "dnnl_brgemm_set_D_scales",
                    sys::dnnl_brgemm_set_D_scales(self.raw, 0),
                    request,
                )?;
            }
        }
        Ok(())
    }

    /// What it computes.
    pub fn shape(&self) -> &BrgemmShape {
        &self.shape
    }

    /// Bytes of scratch memory, aligned to 64, that each thread's execution needs.
    pub fn scratchpad_bytes(&self) -> usize {
        self.scratchpad_bytes
    }

    /// Whether [`Self::execute_post_ops`] does more than [`Self::execute`].
    pub fn has_post_ops(&self) -> bool {
        let mut valid: c_int = 0;
        // SAFETY: a live kernel; writes one number.
        let status = unsafe { sys::dnnl_brgemm_is_execute_postops_valid(self.raw, &mut valid) };
        status == sys::dnnl_success && valid != 0
    }

    /// Prepares the calling thread for executions of this kernel.
    pub fn set_hw_context(&self) -> Result<(), OnednnError> {
        // SAFETY: a live kernel; changes only the calling thread's tile configuration.
        let status = unsafe { sys::dnnl_brgemm_set_hw_context(self.raw) };
        check("dnnl_brgemm_set_hw_context", status, || format!("{:?}", self.shape))
    }

    /// Computes C on the calling thread. `offsets` are those of each A and B from `a` and `b`, in bytes.
    ///
    /// # Safety
    ///
    /// [`Self::set_hw_context`] was the calling thread's last change of context. At every offset, `a` and `b` are valid
    /// for reads of a matrix of the kernel's shape (B packed as [`super::pack_of_b`] says), `c` for reads and writes
    /// of one, and `scratchpad` for reads and writes of [`Self::scratchpad_bytes`], aligned to 64. Nothing else
    /// touches C or the scratchpad meanwhile.
    pub unsafe fn execute(
        &self,
        a: *const u8,
        b: *const u8,
        offsets: &[[i64; 2]],
        c: *mut u8,
        scratchpad: *mut u8,
    ) -> Result<(), OnednnError> {
        self.check_offsets(offsets)?;
        // SAFETY: the caller answers for the memory; the offsets are as many pairs as the kernel reads.
        let status = unsafe {
            sys::dnnl_brgemm_execute(
                self.raw,
                a.cast::<c_void>(),
                b.cast::<c_void>(),
                offsets.as_ptr().cast::<i64>(),
                c.cast::<c_void>(),
                scratchpad.cast::<c_void>(),
            )
        };
        check("dnnl_brgemm_execute", status, || format!("{:?}", self.shape))
    }

    /// As [`Self::execute`], and ends with D. C is read when the kernel adds to it, and may be written. `operands`
    /// are those of the binary post-ops in their order; `scales` those of A, B and D, null where there are none.
    ///
    /// # Safety
    ///
    /// As for [`Self::execute`]; `d` is valid for writes of a matrix of the kernel's shape and D's leading dimension,
    /// each operand for reads of its tensor, and each factor that was asked for is there.
    #[allow(clippy::too_many_arguments, reason = "the operands of one product")]
    pub unsafe fn execute_post_ops(
        &self,
        a: *const u8,
        b: *const u8,
        offsets: &[[i64; 2]],
        c: *mut u8,
        d: *mut u8,
        scratchpad: *mut u8,
        operands: &[*const u8],
        scales: [*const f32; 3],
    ) -> Result<(), OnednnError> {
        self.check_offsets(offsets)?;
        let request = || format!("{:?} with {:?}", self.shape, self.post_ops);
        let Some(post_ops) = &self.post_ops else {
            return Err(invalid(
                "Brgemm::execute_post_ops",
                "the kernel was created without post-ops",
                request(),
            ));
        };
        let wanted = post_ops.attributes.post_op_operands().len();
        if operands.len() != wanted {
            let reason = format!("{} operands for {wanted} binary post-ops", operands.len());
            return Err(invalid("Brgemm::execute_post_ops", reason, request()));
        }
        let asked = [post_ops.scale_a, post_ops.scale_b.is_some(), post_ops.scale_d];
        if asked.iter().zip(&scales).any(|(asked, scale)| *asked && scale.is_null()) {
            return Err(invalid(
                "Brgemm::execute_post_ops",
                "a factor that was asked for is null",
                request(),
            ));
        }
        let mut pointers: Vec<*const c_void> =
            operands.iter().map(|operand| operand.cast::<c_void>()).collect();
        let parameters = Parameters::new(&mut pointers, scales)?;
        // SAFETY: as for `execute`; the parameters and what they point to live until this returns.
        let status = unsafe {
            sys::dnnl_brgemm_execute_postops(
                self.raw,
                a.cast::<c_void>(),
                b.cast::<c_void>(),
                offsets.as_ptr().cast::<i64>(),
                c.cast::<c_void>(),
                d.cast::<c_void>(),
                scratchpad.cast::<c_void>(),
                parameters.0,
            )
        };
        check("dnnl_brgemm_execute_postops", status, request)
    }

    fn check_offsets(&self, offsets: &[[i64; 2]]) -> Result<(), OnednnError> {
        if offsets.len() == self.shape.batch {
            return Ok(());
        }
        let reason =
            format!("{} pairs of offsets for a batch of {}", offsets.len(), self.shape.batch);
        Err(invalid("Brgemm::execute", reason, format!("{:?}", self.shape)))
    }
}

impl fmt::Debug for Brgemm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brgemm")
            .field("shape", &self.shape)
            .field("post_ops", &self.post_ops)
            .finish_non_exhaustive()
    }
}

impl Drop for Brgemm {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_brgemm_destroy(self.raw) };
    }
}

/// Gives the calling thread's tiles back, after its last execution.
pub fn release_hw_context() -> Result<(), OnednnError> {
    // SAFETY: changes only the calling thread's tile configuration.
    check(
        "dnnl_brgemm_release_hw_context",
        unsafe { sys::dnnl_brgemm_release_hw_context() },
        String::new,
    )
}

/// Where the operands of post-ops are, for one execution.
struct Parameters(*mut sys::dnnl_ukernel_attr_params);

impl Parameters {
    fn new(operands: &mut [*const c_void], scales: [*const f32; 3]) -> Result<Self, OnednnError> {
        let mut raw = null_mut();
        // SAFETY: writes one handle.
        let status = unsafe { sys::dnnl_ukernel_attr_params_create(&mut raw) };
        check("dnnl_ukernel_attr_params_create", status, String::new)?;
        let parameters = Parameters(raw);
        let [a, b, d] = scales.map(|scale| scale.cast::<c_void>());
        // SAFETY: a live handle that stores pointers; they are followed while the kernel runs.
        unsafe {
            let status =
                sys::dnnl_ukernel_attr_params_set_post_ops_args(raw, operands.as_mut_ptr());
            check("dnnl_ukernel_attr_params_set_post_ops_args", status, String::new)?;
            check(
                "dnnl_ukernel_attr_params_set_A_scales",
                sys::dnnl_ukernel_attr_params_set_A_scales(raw, a),
                String::new,
            )?;
            check(
                "dnnl_ukernel_attr_params_set_B_scales",
                sys::dnnl_ukernel_attr_params_set_B_scales(raw, b),
                String::new,
            )?;
            check(
                "dnnl_ukernel_attr_params_set_D_scales",
                sys::dnnl_ukernel_attr_params_set_D_scales(raw, d),
                String::new,
            )?;
        }
        Ok(parameters)
    }
}

impl Drop for Parameters {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_ukernel_attr_params_destroy(self.0) };
    }
}
