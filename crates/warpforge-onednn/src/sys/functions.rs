//! The bound functions of oneDNN and of the shim, by the names that C has for them.

use super::*;

unsafe extern "C" {
    pub(crate) fn dnnl_version() -> *const dnnl_version_t;
    pub(crate) fn dnnl_set_verbose(level: c_int) -> c_int;
    pub(crate) fn dnnl_get_effective_cpu_isa() -> c_int;
    pub(crate) fn dnnl_set_max_cpu_isa(isa: c_int) -> c_int;
    pub(crate) fn dnnl_engine_create(
        engine: *mut *mut dnnl_engine,
        kind: c_int,
        index: usize,
    ) -> c_int;
    #[cfg(not(onednn_threadpool))]
    pub(crate) fn dnnl_stream_create(
        stream: *mut *mut dnnl_stream,
        engine: *mut dnnl_engine,
        flags: c_uint,
    ) -> c_int;
    #[cfg(not(onednn_threadpool))]
    pub(crate) fn dnnl_stream_wait(stream: *mut dnnl_stream) -> c_int;
    pub(crate) fn dnnl_stream_destroy(stream: *mut dnnl_stream) -> c_int;

    pub(crate) fn dnnl_memory_desc_create_with_strides(
        out: *mut *mut dnnl_memory_desc,
        rank: c_int,
        dimensions: dims,
        data_type: c_int,
        strides: dims,
    ) -> c_int;
    pub(crate) fn dnnl_memory_desc_create_with_tag(
        out: *mut *mut dnnl_memory_desc,
        rank: c_int,
        dimensions: dims,
        data_type: c_int,
        tag: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_memory_desc_create_submemory(
        out: *mut *mut dnnl_memory_desc,
        parent: md,
        dimensions: dims,
        offsets: dims,
    ) -> c_int;
    pub(crate) fn dnnl_memory_desc_reshape(
        out: *mut *mut dnnl_memory_desc,
        from: md,
        rank: c_int,
        dimensions: dims,
    ) -> c_int;
    pub(crate) fn dnnl_memory_desc_permute_axes(
        out: *mut *mut dnnl_memory_desc,
        from: md,
        permutation: *const c_int,
    ) -> c_int;
    pub(crate) fn dnnl_memory_desc_clone(out: *mut *mut dnnl_memory_desc, from: md) -> c_int;
    pub(crate) fn dnnl_memory_desc_destroy(descriptor: *mut dnnl_memory_desc) -> c_int;
    pub(crate) fn dnnl_memory_desc_query(descriptor: md, what: c_int, result: *mut c_void)
    -> c_int;
    pub(crate) fn dnnl_memory_desc_equal(left: md, right: md) -> c_int;
    pub(crate) fn dnnl_memory_desc_get_size(descriptor: md) -> usize;

    pub(crate) fn dnnl_memory_create(
        out: *mut *mut dnnl_memory,
        descriptor: md,
        engine: *mut dnnl_engine,
        handle: *mut c_void,
    ) -> c_int;
    pub(crate) fn dnnl_memory_set_data_handle(
        memory: *mut dnnl_memory,
        handle: *mut c_void,
    ) -> c_int;
    pub(crate) fn dnnl_memory_destroy(memory: *mut dnnl_memory) -> c_int;

    pub(crate) fn dnnl_primitive_attr_create(out: *mut *mut dnnl_primitive_attr) -> c_int;
    pub(crate) fn dnnl_primitive_attr_destroy(attributes: *mut dnnl_primitive_attr) -> c_int;
    pub(crate) fn dnnl_primitive_attr_set_scratchpad_mode(
        attributes: *mut dnnl_primitive_attr,
        mode: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_attr_set_fpmath_mode_v2(
        attributes: *mut dnnl_primitive_attr,
        mode: c_int,
        apply_to_integers: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_attr_set_accumulation_mode(
        attributes: *mut dnnl_primitive_attr,
        mode: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_attr_set_deterministic(
        attributes: *mut dnnl_primitive_attr,
        value: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_attr_set_scales(
        attributes: *mut dnnl_primitive_attr,
        argument: c_int,
        mask: c_int,
        rank: c_int,
        groups: dims,
        data_type: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_attr_set_zero_points(
        attributes: *mut dnnl_primitive_attr,
        argument: c_int,
        mask: c_int,
        rank: c_int,
        groups: dims,
        data_type: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_attr_set_post_ops(
        attributes: *mut dnnl_primitive_attr,
        post_ops: *const dnnl_post_ops,
    ) -> c_int;
    pub(crate) fn dnnl_post_ops_create(out: *mut *mut dnnl_post_ops) -> c_int;
    pub(crate) fn dnnl_post_ops_destroy(post_ops: *mut dnnl_post_ops) -> c_int;
    pub(crate) fn dnnl_post_ops_append_sum(
        post_ops: *mut dnnl_post_ops,
        scale: f32,
        zero_point: i32,
        data_type: c_int,
    ) -> c_int;
    pub(crate) fn dnnl_post_ops_append_eltwise(
        post_ops: *mut dnnl_post_ops,
        algorithm: c_int,
        alpha: f32,
        beta: f32,
    ) -> c_int;
    pub(crate) fn dnnl_post_ops_append_binary(
        post_ops: *mut dnnl_post_ops,
        algorithm: c_int,
        operand: md,
    ) -> c_int;

    pub(crate) fn dnnl_primitive_desc_destroy(descriptor: *mut dnnl_primitive_desc) -> c_int;
    pub(crate) fn dnnl_primitive_desc_query(
        descriptor: *const dnnl_primitive_desc,
        what: c_int,
        index: c_int,
        result: *mut c_void,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_desc_query_md(
        descriptor: *const dnnl_primitive_desc,
        what: c_int,
        index: c_int,
    ) -> md;
    pub(crate) fn dnnl_primitive_create(
        out: *mut *mut dnnl_primitive,
        descriptor: *const dnnl_primitive_desc,
    ) -> c_int;
    pub(crate) fn dnnl_primitive_destroy(primitive: *mut dnnl_primitive) -> c_int;
    pub(crate) fn dnnl_primitive_execute(
        primitive: *const dnnl_primitive,
        stream: *mut dnnl_stream,
        count: c_int,
        arguments: *const dnnl_exec_arg_t,
    ) -> c_int;

    pub(crate) fn dnnl_matmul_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        src: md,
        weights: md,
        bias: md,
        dst: md,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_reorder_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        src: md,
        src_engine: *mut dnnl_engine,
        dst: md,
        dst_engine: *mut dnnl_engine,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_convolution_forward_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        propagation: c_int,
        algorithm: c_int,
        src: md,
        weights: md,
        bias: md,
        dst: md,
        strides: dims,
        dilations: dims,
        padding_low: dims,
        padding_high: dims,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_convolution_backward_data_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        algorithm: c_int,
        diff_src: md,
        weights: md,
        diff_dst: md,
        strides: dims,
        dilations: dims,
        padding_low: dims,
        padding_high: dims,
        forward: *const dnnl_primitive_desc,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_convolution_backward_weights_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        algorithm: c_int,
        src: md,
        diff_weights: md,
        diff_bias: md,
        diff_dst: md,
        strides: dims,
        dilations: dims,
        padding_low: dims,
        padding_high: dims,
        forward: *const dnnl_primitive_desc,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_pooling_forward_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        propagation: c_int,
        algorithm: c_int,
        src: md,
        dst: md,
        strides: dims,
        kernel: dims,
        dilations: dims,
        padding_low: dims,
        padding_high: dims,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_pooling_backward_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        algorithm: c_int,
        diff_src: md,
        diff_dst: md,
        strides: dims,
        kernel: dims,
        dilations: dims,
        padding_low: dims,
        padding_high: dims,
        forward: *const dnnl_primitive_desc,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_softmax_forward_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        propagation: c_int,
        algorithm: c_int,
        src: md,
        dst: md,
        axis: c_int,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_layer_normalization_forward_primitive_desc_create_v2(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        propagation: c_int,
        src: md,
        dst: md,
        statistics: md,
        scale_shift_type: c_int,
        epsilon: f32,
        flags: c_uint,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_eltwise_forward_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        propagation: c_int,
        algorithm: c_int,
        src: md,
        dst: md,
        alpha: f32,
        beta: f32,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_binary_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        algorithm: c_int,
        src: md,
        src1: md,
        dst: md,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
    pub(crate) fn dnnl_reduction_primitive_desc_create(
        out: *mut *mut dnnl_primitive_desc,
        engine: *mut dnnl_engine,
        algorithm: c_int,
        src: md,
        dst: md,
        power: f32,
        epsilon: f32,
        attributes: *const dnnl_primitive_attr,
    ) -> c_int;
}

#[cfg(onednn_threadpool)]
unsafe extern "C" {
    pub(crate) fn dnnl_threadpool_interop_stream_create(
        stream: *mut *mut dnnl_stream,
        engine: *mut dnnl_engine,
        pool: *mut c_void,
    ) -> c_int;
    pub(crate) fn dnnl_threadpool_interop_set_max_concurrency(threads: c_int) -> c_int;

    pub(crate) fn warpforge_onednn_pool_create(
        context: *const c_void,
        count: extern "C" fn(*const c_void) -> c_int,
        inside: extern "C" fn(*const c_void) -> c_int,
        run: extern "C" fn(*const c_void, c_int, *const c_void),
    ) -> *mut c_void;
    pub(crate) fn warpforge_onednn_pool_destroy(pool: *mut c_void);
    pub(crate) fn warpforge_onednn_task(
        closure: *const c_void,
        index: c_int,
        tasks: c_int,
    ) -> c_int;
}
