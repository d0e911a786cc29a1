// Holds the hand-written bindings of sys.rs against the headers: the type of every bound function is checked when this
// file is compiled, the value of every constant and the size of every structure by a test through the table below.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_config.h"
#include "oneapi/dnnl/dnnl_ukernel.h"
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
#include "oneapi/dnnl/dnnl_threadpool.h"
#endif

namespace {

using status = dnnl_status_t;
using md = const_dnnl_memory_desc_t;
using md_out = dnnl_memory_desc_t *;
using pd_out = dnnl_primitive_desc_t *;
using pd = const_dnnl_primitive_desc_t;
using attr = const_dnnl_primitive_attr_t;
using dims = const int64_t *;

#define FUNCTION(name, result, ...) \
    static_assert(std::is_same<decltype(&name), result (*)(__VA_ARGS__)>::value, #name " has another type")

FUNCTION(dnnl_version, const dnnl_version_t *);
FUNCTION(dnnl_set_verbose, status, int);
FUNCTION(dnnl_get_effective_cpu_isa, dnnl_cpu_isa_t);
FUNCTION(dnnl_set_max_cpu_isa, status, dnnl_cpu_isa_t);
FUNCTION(dnnl_engine_create, status, dnnl_engine_t *, dnnl_engine_kind_t, size_t);
FUNCTION(dnnl_stream_create, status, dnnl_stream_t *, dnnl_engine_t, unsigned);
FUNCTION(dnnl_stream_wait, status, dnnl_stream_t);
FUNCTION(dnnl_stream_destroy, status, dnnl_stream_t);

FUNCTION(dnnl_memory_desc_create_with_strides, status, md_out, int, dims, dnnl_data_type_t, dims);
FUNCTION(dnnl_memory_desc_create_with_tag, status, md_out, int, dims, dnnl_data_type_t, dnnl_format_tag_t);
FUNCTION(dnnl_memory_desc_create_submemory, status, md_out, md, dims, dims);
FUNCTION(dnnl_memory_desc_reshape, status, md_out, md, int, dims);
FUNCTION(dnnl_memory_desc_permute_axes, status, md_out, md, const int *);
FUNCTION(dnnl_memory_desc_clone, status, md_out, md);
FUNCTION(dnnl_memory_desc_destroy, status, dnnl_memory_desc_t);
FUNCTION(dnnl_memory_desc_query, status, md, dnnl_query_t, void *);
FUNCTION(dnnl_memory_desc_equal, int, md, md);
FUNCTION(dnnl_memory_desc_get_size, size_t, md);

FUNCTION(dnnl_memory_create, status, dnnl_memory_t *, md, dnnl_engine_t, void *);
FUNCTION(dnnl_memory_set_data_handle, status, dnnl_memory_t, void *);
FUNCTION(dnnl_memory_destroy, status, dnnl_memory_t);

FUNCTION(dnnl_primitive_attr_create, status, dnnl_primitive_attr_t *);
FUNCTION(dnnl_primitive_attr_destroy, status, dnnl_primitive_attr_t);
FUNCTION(dnnl_primitive_attr_set_scratchpad_mode, status, dnnl_primitive_attr_t, dnnl_scratchpad_mode_t);
FUNCTION(dnnl_primitive_attr_set_fpmath_mode_v2, status, dnnl_primitive_attr_t, dnnl_fpmath_mode_t, int);
FUNCTION(dnnl_primitive_attr_set_accumulation_mode, status, dnnl_primitive_attr_t, dnnl_accumulation_mode_t);
FUNCTION(dnnl_primitive_attr_set_deterministic, status, dnnl_primitive_attr_t, int);
FUNCTION(dnnl_primitive_attr_set_scales, status, dnnl_primitive_attr_t, int, int, int, dims, dnnl_data_type_t);
FUNCTION(dnnl_primitive_attr_set_zero_points, status, dnnl_primitive_attr_t, int, int, int, dims, dnnl_data_type_t);
FUNCTION(dnnl_primitive_attr_set_post_ops, status, dnnl_primitive_attr_t, const_dnnl_post_ops_t);
FUNCTION(dnnl_post_ops_create, status, dnnl_post_ops_t *);
FUNCTION(dnnl_post_ops_destroy, status, dnnl_post_ops_t);
FUNCTION(dnnl_post_ops_append_sum, status, dnnl_post_ops_t, float, int32_t, dnnl_data_type_t);
FUNCTION(dnnl_post_ops_append_eltwise, status, dnnl_post_ops_t, dnnl_alg_kind_t, float, float);
FUNCTION(dnnl_post_ops_append_binary, status, dnnl_post_ops_t, dnnl_alg_kind_t, md);

FUNCTION(dnnl_primitive_desc_destroy, status, dnnl_primitive_desc_t);
FUNCTION(dnnl_primitive_desc_query, status, pd, dnnl_query_t, int, void *);
FUNCTION(dnnl_primitive_desc_query_md, md, pd, dnnl_query_t, int);
FUNCTION(dnnl_primitive_create, status, dnnl_primitive_t *, pd);
FUNCTION(dnnl_primitive_destroy, status, dnnl_primitive_t);
FUNCTION(dnnl_primitive_execute, status, const_dnnl_primitive_t, dnnl_stream_t, int, const dnnl_exec_arg_t *);

FUNCTION(dnnl_matmul_primitive_desc_create, status, pd_out, dnnl_engine_t, md, md, md, md, attr);
FUNCTION(dnnl_reorder_primitive_desc_create, status, pd_out, md, dnnl_engine_t, md, dnnl_engine_t, attr);
FUNCTION(dnnl_convolution_forward_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_prop_kind_t,
        dnnl_alg_kind_t, md, md, md, md, dims, dims, dims, dims, attr);
FUNCTION(dnnl_convolution_backward_data_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_alg_kind_t, md, md,
        md, dims, dims, dims, dims, pd, attr);
FUNCTION(dnnl_convolution_backward_weights_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_alg_kind_t, md,
        md, md, md, dims, dims, dims, dims, pd, attr);
FUNCTION(dnnl_pooling_forward_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_prop_kind_t, dnnl_alg_kind_t,
        md, md, dims, dims, dims, dims, dims, attr);
FUNCTION(dnnl_pooling_backward_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_alg_kind_t, md, md, dims,
        dims, dims, dims, dims, pd, attr);
FUNCTION(dnnl_softmax_forward_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_prop_kind_t, dnnl_alg_kind_t,
        md, md, int, attr);
FUNCTION(dnnl_layer_normalization_forward_primitive_desc_create_v2, status, pd_out, dnnl_engine_t, dnnl_prop_kind_t,
        md, md, md, dnnl_data_type_t, float, unsigned, attr);
FUNCTION(dnnl_eltwise_forward_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_prop_kind_t, dnnl_alg_kind_t,
        md, md, float, float, attr);
FUNCTION(dnnl_binary_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_alg_kind_t, md, md, md, attr);
FUNCTION(dnnl_reduction_primitive_desc_create, status, pd_out, dnnl_engine_t, dnnl_alg_kind_t, md, md, float, float,
        attr);

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_THREADPOOL
FUNCTION(dnnl_threadpool_interop_stream_create, status, dnnl_stream_t *, dnnl_engine_t, void *);
FUNCTION(dnnl_threadpool_interop_set_max_concurrency, status, int);
#endif

#ifdef DNNL_EXPERIMENTAL_UKERNEL
FUNCTION(dnnl_brgemm_create, status, dnnl_brgemm_t *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
        dnnl_data_type_t, dnnl_data_type_t, dnnl_data_type_t);
FUNCTION(dnnl_brgemm_set_add_C, status, dnnl_brgemm_t, int);
FUNCTION(dnnl_brgemm_set_post_ops, status, dnnl_brgemm_t, int64_t, dnnl_data_type_t, const_dnnl_post_ops_t);
FUNCTION(dnnl_brgemm_set_A_scales, status, dnnl_brgemm_t, int);
FUNCTION(dnnl_brgemm_set_B_scales, status, dnnl_brgemm_t, int);
FUNCTION(dnnl_brgemm_set_D_scales, status, dnnl_brgemm_t, int);
FUNCTION(dnnl_brgemm_finalize, status, dnnl_brgemm_t);
FUNCTION(dnnl_brgemm_get_B_pack_type, status, dnnl_pack_type_t *, dnnl_data_type_t, dnnl_data_type_t);
FUNCTION(dnnl_brgemm_get_scratchpad_size, status, const_dnnl_brgemm_t, size_t *);
FUNCTION(dnnl_brgemm_is_execute_postops_valid, status, const_dnnl_brgemm_t, int *);
FUNCTION(dnnl_brgemm_set_hw_context, status, const_dnnl_brgemm_t);
FUNCTION(dnnl_brgemm_release_hw_context, status);
FUNCTION(dnnl_brgemm_generate, status, dnnl_brgemm_t);
FUNCTION(dnnl_brgemm_execute, status, const_dnnl_brgemm_t, const void *, const void *, dims, void *, void *);
FUNCTION(dnnl_brgemm_execute_postops, status, const_dnnl_brgemm_t, const void *, const void *, dims, const void *,
        void *, void *, const_dnnl_ukernel_attr_params_t);
FUNCTION(dnnl_brgemm_destroy, status, dnnl_brgemm_t);
FUNCTION(dnnl_ukernel_attr_params_create, status, dnnl_ukernel_attr_params_t *);
FUNCTION(dnnl_ukernel_attr_params_set_post_ops_args, status, dnnl_ukernel_attr_params_t, const void **);
FUNCTION(dnnl_ukernel_attr_params_set_A_scales, status, dnnl_ukernel_attr_params_t, const void *);
FUNCTION(dnnl_ukernel_attr_params_set_B_scales, status, dnnl_ukernel_attr_params_t, const void *);
FUNCTION(dnnl_ukernel_attr_params_set_D_scales, status, dnnl_ukernel_attr_params_t, const void *);
FUNCTION(dnnl_ukernel_attr_params_destroy, status, dnnl_ukernel_attr_params_t);
FUNCTION(dnnl_transform_create, status, dnnl_transform_t *, int64_t, int64_t, dnnl_pack_type_t, int64_t, int64_t,
        dnnl_data_type_t, dnnl_data_type_t);
FUNCTION(dnnl_transform_generate, status, dnnl_transform_t);
FUNCTION(dnnl_transform_execute, status, const_dnnl_transform_t, const void *, void *);
FUNCTION(dnnl_transform_destroy, status, dnnl_transform_t);
#endif

// Enumerations cross as C ints.
static_assert(sizeof(dnnl_status_t) == 4 && sizeof(dnnl_data_type_t) == 4 && sizeof(dnnl_alg_kind_t) == 4
                && sizeof(dnnl_prop_kind_t) == 4 && sizeof(dnnl_query_t) == 4 && sizeof(dnnl_format_kind_t) == 4
                && sizeof(dnnl_cpu_isa_t) == 4 && sizeof(dnnl_engine_kind_t) == 4,
        "enumerations are four bytes");

struct entry {
    const char *name;
    int64_t value;
};

#define VALUE(name) \
    { #name, static_cast<int64_t>(name) }

const entry entries[] = {
        VALUE(dnnl_success), VALUE(dnnl_out_of_memory), VALUE(dnnl_invalid_arguments), VALUE(dnnl_unimplemented),
        VALUE(dnnl_last_impl_reached), VALUE(dnnl_runtime_error), VALUE(dnnl_not_required),
        VALUE(dnnl_f16), VALUE(dnnl_bf16), VALUE(dnnl_f32), VALUE(dnnl_s32), VALUE(dnnl_s8), VALUE(dnnl_u8),
        VALUE(dnnl_f64), VALUE(dnnl_s4), VALUE(dnnl_u4), VALUE(dnnl_data_type_undef),
        VALUE(dnnl_blocked), VALUE(dnnl_format_kind_any), VALUE(dnnl_format_tag_any),
        VALUE(dnnl_cpu), VALUE(dnnl_stream_in_order),
        VALUE(dnnl_forward_training), VALUE(dnnl_forward_inference),
        VALUE(dnnl_scratchpad_mode_user),
        VALUE(dnnl_fpmath_mode_strict), VALUE(dnnl_fpmath_mode_bf16), VALUE(dnnl_fpmath_mode_f16),
        VALUE(dnnl_fpmath_mode_any), VALUE(dnnl_fpmath_mode_tf32),
        VALUE(dnnl_cpu_isa_sse41), VALUE(dnnl_cpu_isa_avx2), VALUE(dnnl_cpu_isa_avx512_core),
        VALUE(dnnl_accumulation_mode_strict), VALUE(dnnl_accumulation_mode_relaxed), VALUE(dnnl_accumulation_mode_any),
        VALUE(dnnl_accumulation_mode_s32), VALUE(dnnl_accumulation_mode_f32), VALUE(dnnl_accumulation_mode_f16),
        VALUE(dnnl_convolution_direct), VALUE(dnnl_convolution_auto),
        VALUE(dnnl_eltwise_relu), VALUE(dnnl_eltwise_tanh), VALUE(dnnl_eltwise_elu), VALUE(dnnl_eltwise_square),
        VALUE(dnnl_eltwise_abs), VALUE(dnnl_eltwise_sqrt), VALUE(dnnl_eltwise_linear), VALUE(dnnl_eltwise_soft_relu),
        VALUE(dnnl_eltwise_hardsigmoid), VALUE(dnnl_eltwise_logistic), VALUE(dnnl_eltwise_exp),
        VALUE(dnnl_eltwise_gelu_tanh), VALUE(dnnl_eltwise_swish), VALUE(dnnl_eltwise_log), VALUE(dnnl_eltwise_clip),
        VALUE(dnnl_eltwise_pow), VALUE(dnnl_eltwise_gelu_erf), VALUE(dnnl_eltwise_round), VALUE(dnnl_eltwise_mish),
        VALUE(dnnl_eltwise_hardswish),
        VALUE(dnnl_pooling_max), VALUE(dnnl_pooling_avg_include_padding), VALUE(dnnl_pooling_avg_exclude_padding),
        VALUE(dnnl_binary_add), VALUE(dnnl_binary_mul), VALUE(dnnl_binary_max), VALUE(dnnl_binary_min),
        VALUE(dnnl_binary_div), VALUE(dnnl_binary_sub), VALUE(dnnl_binary_ge), VALUE(dnnl_binary_gt),
        VALUE(dnnl_binary_le), VALUE(dnnl_binary_lt), VALUE(dnnl_binary_eq), VALUE(dnnl_binary_ne),
        VALUE(dnnl_reduction_max), VALUE(dnnl_reduction_min), VALUE(dnnl_reduction_sum), VALUE(dnnl_reduction_mul),
        VALUE(dnnl_reduction_mean), VALUE(dnnl_reduction_norm_lp_sum),
        VALUE(dnnl_softmax_accurate), VALUE(dnnl_softmax_log),
        VALUE(dnnl_normalization_flags_none), VALUE(dnnl_use_global_stats), VALUE(dnnl_use_scale),
        VALUE(dnnl_use_shift),
        VALUE(dnnl_query_impl_info_str), VALUE(dnnl_query_workspace_md), VALUE(dnnl_query_scratchpad_md),
        VALUE(dnnl_query_exec_arg_md), VALUE(dnnl_query_ndims_s32), VALUE(dnnl_query_dims),
        VALUE(dnnl_query_data_type), VALUE(dnnl_query_format_kind), VALUE(dnnl_query_inner_nblks_s32),
        VALUE(dnnl_query_inner_blks), VALUE(dnnl_query_inner_idxs), VALUE(dnnl_query_strides),
        VALUE(dnnl_query_padded_dims), VALUE(dnnl_query_submemory_offset_s64),
        VALUE(DNNL_MAX_NDIMS), VALUE(DNNL_ARG_SRC), VALUE(DNNL_ARG_SRC_1), VALUE(DNNL_ARG_DST),
        VALUE(DNNL_ARG_WEIGHTS), VALUE(DNNL_ARG_BIAS), VALUE(DNNL_ARG_MEAN), VALUE(DNNL_ARG_VARIANCE),
        VALUE(DNNL_ARG_SCALE), VALUE(DNNL_ARG_SHIFT), VALUE(DNNL_ARG_WORKSPACE), VALUE(DNNL_ARG_SCRATCHPAD),
        VALUE(DNNL_ARG_DIFF_SRC), VALUE(DNNL_ARG_DIFF_DST), VALUE(DNNL_ARG_DIFF_WEIGHTS), VALUE(DNNL_ARG_DIFF_BIAS),
        VALUE(DNNL_ARG_ATTR_SCALES), VALUE(DNNL_ARG_ATTR_ZERO_POINTS),
        {"DNNL_ARG_ATTR_MULTIPLE_POST_OP_0", DNNL_ARG_ATTR_MULTIPLE_POST_OP(0)},
        {"DNNL_ARG_ATTR_MULTIPLE_POST_OP_2", DNNL_ARG_ATTR_MULTIPLE_POST_OP(2)},
#ifdef DNNL_EXPERIMENTAL_UKERNEL
        VALUE(dnnl_pack_type_undef), VALUE(dnnl_pack_type_no_trans), VALUE(dnnl_pack_type_trans),
        VALUE(dnnl_pack_type_pack32),
#endif
        {"sizeof dnnl_exec_arg_t", sizeof(dnnl_exec_arg_t)},
        {"offsetof dnnl_exec_arg_t memory", offsetof(dnnl_exec_arg_t, memory)},
        {"sizeof dnnl_version_t", sizeof(dnnl_version_t)},
        {"offsetof dnnl_version_t minor", offsetof(dnnl_version_t, minor)},
        {"offsetof dnnl_version_t patch", offsetof(dnnl_version_t, patch)},
        {"sizeof dnnl_dim_t", sizeof(dnnl_dim_t)},
};

} // namespace

// The value that the headers give a name, or the smallest number for a name that is not in the table.
extern "C" int64_t warpforge_onednn_contract(const char *name) noexcept {
    for (const entry &candidate : entries)
        if (std::strcmp(candidate.name, name) == 0) return candidate.value;
    return INT64_MIN;
}
