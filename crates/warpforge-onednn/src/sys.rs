//! Bindings to the part of oneDNN's C API that this crate uses, written by hand: building needs no libclang, and what is
//! bound can be read. `src/shim/contract.cpp` checks the type of every function here when it is compiled, and a test
//! below compares every constant and structure with the headers. Nothing here is visible outside the crate.
#![allow(unsafe_code, non_camel_case_types, non_upper_case_globals)]

mod functions;
#[cfg(onednn_ukernel)]
mod ukernel;

pub(crate) use functions::*;
#[cfg(onednn_ukernel)]
pub(crate) use ukernel::*;

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A handle of the library: points to something only it can look into.
macro_rules! handles {
    ($($name:ident),* $(,)?) => {$(
        #[repr(C)]
        pub(crate) struct $name {
            _opaque: [u8; 0],
            _neither_send_nor_sync: std::marker::PhantomData<*mut u8>,
        }
    )*};
}

handles!(
    dnnl_engine,
    dnnl_stream,
    dnnl_memory_desc,
    dnnl_memory,
    dnnl_primitive_attr,
    dnnl_post_ops,
    dnnl_primitive_desc,
    dnnl_primitive,
);
#[cfg(onednn_ukernel)]
handles!(dnnl_brgemm, dnnl_transform, dnnl_ukernel_attr_params);

#[repr(C)]
pub(crate) struct dnnl_version_t {
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
    pub(crate) patch: c_int,
    pub(crate) hash: *const c_char,
    pub(crate) cpu_runtime: c_uint,
    pub(crate) gpu_runtime: c_uint,
}

#[repr(C)]
pub(crate) struct dnnl_exec_arg_t {
    pub(crate) arg: c_int,
    pub(crate) memory: *mut dnnl_memory,
}

type md = *const dnnl_memory_desc;
type dims = *const i64;

/// Constants, and in tests a list of them with their names.
macro_rules! constants {
    ($($name:ident = $value:expr;)*) => {
        $(pub(crate) const $name: c_int = $value;)*
        #[cfg(test)]
        const CONSTANTS: &[(&str, c_int)] = &[$((stringify!($name), $name)),*];
    };
}

constants! {
    dnnl_success = 0;
    dnnl_out_of_memory = 1;
    dnnl_invalid_arguments = 2;
    dnnl_unimplemented = 3;
    dnnl_last_impl_reached = 4;
    dnnl_runtime_error = 5;
    dnnl_not_required = 6;

    dnnl_data_type_undef = 0;
    dnnl_f16 = 1;
    dnnl_bf16 = 2;
    dnnl_f32 = 3;
    dnnl_s32 = 4;
    dnnl_s8 = 5;
    dnnl_u8 = 6;
    dnnl_f64 = 7;
    dnnl_s4 = 11;
    dnnl_u4 = 12;

    dnnl_format_kind_any = 1;
    dnnl_blocked = 2;
    dnnl_format_tag_any = 1;
    dnnl_cpu = 1;
    dnnl_forward_training = 64;
    dnnl_forward_inference = 96;
    dnnl_scratchpad_mode_user = 1;

    dnnl_fpmath_mode_strict = 0;
    dnnl_fpmath_mode_bf16 = 1;
    dnnl_fpmath_mode_f16 = 2;
    dnnl_fpmath_mode_any = 3;
    dnnl_fpmath_mode_tf32 = 4;
    dnnl_cpu_isa_sse41 = 0x1;
    dnnl_cpu_isa_avx2 = 0x7;
    dnnl_cpu_isa_avx512_core = 0x27;
    dnnl_accumulation_mode_strict = 0;
    dnnl_accumulation_mode_relaxed = 1;
    dnnl_accumulation_mode_any = 2;
    dnnl_accumulation_mode_s32 = 3;
    dnnl_accumulation_mode_f32 = 4;
    dnnl_accumulation_mode_f16 = 5;

    dnnl_convolution_direct = 0x1;
    dnnl_eltwise_relu = 0x20;
    dnnl_eltwise_tanh = 0x21;
    dnnl_eltwise_elu = 0x22;
    dnnl_eltwise_square = 0x23;
    dnnl_eltwise_abs = 0x24;
    dnnl_eltwise_sqrt = 0x25;
    dnnl_eltwise_linear = 0x26;
    dnnl_eltwise_soft_relu = 0x27;
    dnnl_eltwise_hardsigmoid = 0x28;
    dnnl_eltwise_logistic = 0x29;
    dnnl_eltwise_exp = 0x2a;
    dnnl_eltwise_gelu_tanh = 0x2b;
    dnnl_eltwise_swish = 0x2c;
    dnnl_eltwise_log = 0x2d;
    dnnl_eltwise_clip = 0x2e;
    dnnl_eltwise_pow = 0x30;
    dnnl_eltwise_gelu_erf = 0x31;
    dnnl_eltwise_round = 0x32;
    dnnl_eltwise_mish = 0x33;
    dnnl_eltwise_hardswish = 0x34;
    dnnl_pooling_max = 0x1ff;
    dnnl_pooling_avg_include_padding = 0x2ff;
    dnnl_pooling_avg_exclude_padding = 0x3ff;
    dnnl_binary_add = 0x1fff0;
    dnnl_binary_mul = 0x1fff1;
    dnnl_binary_max = 0x1fff2;
    dnnl_binary_min = 0x1fff3;
    dnnl_binary_div = 0x1fff4;
    dnnl_binary_sub = 0x1fff5;
    dnnl_binary_ge = 0x1fff6;
    dnnl_binary_gt = 0x1fff7;
    dnnl_binary_le = 0x1fff8;
    dnnl_binary_lt = 0x1fff9;
    dnnl_binary_eq = 0x1fffa;
    dnnl_binary_ne = 0x1fffb;
    dnnl_reduction_max = 0x2fff2;
    dnnl_reduction_min = 0x2fff3;
    dnnl_reduction_sum = 0x2fff4;
    dnnl_reduction_mul = 0x2fff5;
    dnnl_reduction_mean = 0x2fff6;
    dnnl_reduction_norm_lp_sum = 0x2fff8;
    dnnl_softmax_accurate = 0x30000;
    dnnl_softmax_log = 0x30001;
    dnnl_use_scale = 0x2;
    dnnl_use_shift = 0x4;

    dnnl_query_impl_info_str = 8;
    dnnl_query_strides = 14;
    dnnl_query_exec_arg_md = 255;
    dnnl_query_ndims_s32 = 256;
    dnnl_query_dims = 257;
    dnnl_query_data_type = 258;
    dnnl_query_submemory_offset_s64 = 259;
    dnnl_query_format_kind = 262;
    dnnl_query_inner_nblks_s32 = 263;
    dnnl_query_inner_blks = 264;
    dnnl_query_inner_idxs = 265;

    DNNL_MAX_NDIMS = 12;
    DNNL_ARG_SRC = 1;
    DNNL_ARG_SRC_1 = 2;
    DNNL_ARG_DST = 17;
    DNNL_ARG_WEIGHTS = 33;
    DNNL_ARG_BIAS = 41;
    DNNL_ARG_MEAN = 49;
    DNNL_ARG_VARIANCE = 50;
    DNNL_ARG_SCALE = 51;
    DNNL_ARG_SHIFT = 52;
    DNNL_ARG_WORKSPACE = 64;
    DNNL_ARG_SCRATCHPAD = 80;
    DNNL_ARG_DIFF_SRC = 129;
    DNNL_ARG_DIFF_DST = 145;
    DNNL_ARG_DIFF_WEIGHTS = 161;
    DNNL_ARG_DIFF_BIAS = 169;
    DNNL_ARG_ATTR_SCALES = 4096;
    DNNL_ARG_ATTR_ZERO_POINTS = 8192;
    DNNL_ARG_ATTR_MULTIPLE_POST_OP_0 = 32768;
}

#[cfg(not(onednn_threadpool))]
pub(crate) const dnnl_stream_in_order: c_uint = 1;
#[cfg(onednn_ukernel)]
pub(crate) const dnnl_pack_type_no_trans: c_int = 1;
#[cfg(onednn_ukernel)]
pub(crate) const dnnl_pack_type_trans: c_int = 2;
#[cfg(onednn_ukernel)]
pub(crate) const dnnl_pack_type_pack32: c_int = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::mem::{offset_of, size_of};

    unsafe extern "C" {
        fn warpforge_onednn_contract(name: *const c_char) -> i64;
    }

    /// What the C headers say.
    fn header(name: &str) -> i64 {
        let name = CString::new(name).unwrap();
        // SAFETY: the name ends with a zero byte and is only read.
        unsafe { warpforge_onednn_contract(name.as_ptr()) }
    }

    #[test]
    fn constants_are_those_of_the_headers() {
        for (name, value) in CONSTANTS {
            assert_eq!(header(name), i64::from(*value), "{name}");
        }
        assert_eq!(
            header("DNNL_ARG_ATTR_MULTIPLE_POST_OP_2"),
            i64::from(DNNL_ARG_ATTR_MULTIPLE_POST_OP_0) * 3
        );
        assert_eq!(header("no such name"), i64::MIN);
    }

    #[test]
    #[cfg(onednn_ukernel)]
    fn pack_types_are_those_of_the_headers() {
        assert_eq!(header("dnnl_pack_type_no_trans"), i64::from(dnnl_pack_type_no_trans));
        assert_eq!(header("dnnl_pack_type_trans"), i64::from(dnnl_pack_type_trans));
        assert_eq!(header("dnnl_pack_type_pack32"), i64::from(dnnl_pack_type_pack32));
    }

    #[test]
    fn structures_are_laid_out_as_in_the_headers() {
        let same = |name: &str, ours: usize| assert_eq!(header(name), ours as i64, "{name}");
        same("sizeof dnnl_exec_arg_t", size_of::<dnnl_exec_arg_t>());
        same("offsetof dnnl_exec_arg_t memory", offset_of!(dnnl_exec_arg_t, memory));
        same("sizeof dnnl_version_t", size_of::<dnnl_version_t>());
        same("offsetof dnnl_version_t minor", offset_of!(dnnl_version_t, minor));
        same("offsetof dnnl_version_t patch", offset_of!(dnnl_version_t, patch));
        same("sizeof dnnl_dim_t", size_of::<i64>());
    }
}
