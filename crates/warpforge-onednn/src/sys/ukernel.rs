//! The bound functions of oneDNN's micro-kernels.

use super::*;

unsafe extern "C" {
    pub(crate) fn dnnl_brgemm_create(
        out: *mut *mut dnnl_brgemm,
        m: i64,
        n: i64,
        k: i64,
        batch: i64,
        lda: i64,
        ldb: i64,
        ldc: i64,
        a: c_int,
        b: c_int,
        c: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_brgemm_set_add_C(kernel: *mut dnnl_brgemm, add: c_int) -> c_int;
    pub(crate) fn dnnl_brgemm_set_post_ops(
        kernel: *mut dnnl_brgemm,
        ldd: i64,
        d: c_int,
        post_ops: *const dnnl_post_ops,
    ) -> c_int;
    pub(crate) fn dnnl_brgemm_set_A_scales(kernel: *mut dnnl_brgemm, mask: c_int) -> c_int;
    pub(crate) fn dnnl_brgemm_set_B_scales(kernel: *mut dnnl_brgemm, mask: c_int) -> c_int;
    pub(crate) fn dnnl_brgemm_set_D_scales(kernel: *mut dnnl_brgemm, mask: c_int) -> c_int;
    pub(crate) fn dnnl_brgemm_finalize(kernel: *mut dnnl_brgemm) -> c_int;
    pub(crate) fn dnnl_brgemm_get_B_pack_type(pack: *mut c_int, a: c_int, b: c_int) -> c_int;
    pub(crate) fn dnnl_brgemm_get_scratchpad_size(
        kernel: *const dnnl_brgemm,
        bytes: *mut usize,
    ) -> c_int;
    pub(crate) fn dnnl_brgemm_is_execute_postops_valid(
        kernel: *const dnnl_brgemm,
        valid: *mut c_int,
    ) -> c_int;
    pub(crate) fn dnnl_brgemm_set_hw_context(kernel: *const dnnl_brgemm) -> c_int;
    pub(crate) fn dnnl_brgemm_release_hw_context() -> c_int;
    pub(crate) fn dnnl_brgemm_generate(kernel: *mut dnnl_brgemm) -> c_int;
    pub(crate) fn dnnl_brgemm_execute(
        kernel: *const dnnl_brgemm,
        a: *const c_void,
        b: *const c_void,
        offsets: *const i64,
        c: *mut c_void,
        scratchpad: *mut c_void,
    ) -> c_int;
    pub(crate) fn dnnl_brgemm_execute_postops(
        kernel: *const dnnl_brgemm,
        a: *const c_void,
        b: *const c_void,
        offsets: *const i64,
        c: *const c_void,
        d: *mut c_void,
        scratchpad: *mut c_void,
        parameters: *const dnnl_ukernel_attr_params,
    ) -> c_int;
    pub(crate) fn dnnl_brgemm_destroy(kernel: *mut dnnl_brgemm) -> c_int;
    pub(crate) fn dnnl_ukernel_attr_params_create(out: *mut *mut dnnl_ukernel_attr_params)
    -> c_int;
    pub(crate) fn dnnl_ukernel_attr_params_set_post_ops_args(
        parameters: *mut dnnl_ukernel_attr_params,
        arguments: *mut *const c_void,
    ) -> c_int;
    pub(crate) fn dnnl_ukernel_attr_params_set_A_scales(
        parameters: *mut dnnl_ukernel_attr_params,
        scales: *const c_void,
    ) -> c_int;
    pub(crate) fn dnnl_ukernel_attr_params_set_B_scales(
        parameters: *mut dnnl_ukernel_attr_params,
        scales: *const c_void,
    ) -> c_int;
    pub(crate) fn dnnl_ukernel_attr_params_set_D_scales(
        parameters: *mut dnnl_ukernel_attr_params,
        scales: *const c_void,
    ) -> c_int;
    pub(crate) fn dnnl_ukernel_attr_params_destroy(
        parameters: *mut dnnl_ukernel_attr_params,
    ) -> c_int;
    pub(crate) fn dnnl_transform_create(
        out: *mut *mut dnnl_transform,
        k: i64,
        n: i64,
        input_pack: c_int,
        input_leading: i64,
        output_leading: i64,
        input: c_int,
        output: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_transform_generate(transform: *mut dnnl_transform) -> c_int;
    pub(crate) fn dnnl_transform_execute(
        transform: *const dnnl_transform,
        input: *const c_void,
        output: *mut c_void,
    ) -> c_int;
    pub(crate) fn dnnl_transform_destroy(transform: *mut dnnl_transform) -> c_int;
}
