//! From kinds to names and attributes: the reverse of reading, in the order MLIR prints (alphabetical).

use warpforge_tensor::DType;

use crate::attribute::{Attribute, Attributes, Dense};
use crate::ir::{
    Channel, Convolution, CustomCall, DotGeneral, Gather, Group, OpKind, Precision, Scatter, Window,
};
use crate::types::TensorType;

/// The op's name and the attributes its kind stands for.
pub(crate) fn attributes_of(kind: &OpKind) -> (&str, Attributes) {
    let mut list = Attributes::default();
    let a = &mut list;
    let name = match kind {
        OpKind::Unary(unary) => unary.name(),
        OpKind::Binary(binary) => binary.name(),
        OpKind::AfterAll => "stablehlo.after_all",
        OpKind::AllGather { dimension, group } => {
            a.push("all_gather_dim", Attribute::i64(*dimension));
            push_group(a, group);
            "stablehlo.all_gather"
        }
        OpKind::AllReduce { group } => {
            push_group(a, group);
            "stablehlo.all_reduce"
        }
        OpKind::AllToAll { split_dimension, concat_dimension, split_count, group } => {
            a.push("concat_dimension", Attribute::i64(*concat_dimension));
            a.push("split_count", Attribute::i64(*split_count));
            a.push("split_dimension", Attribute::i64(*split_dimension));
            push_group(a, group);
            "stablehlo.all_to_all"
        }
        OpKind::BatchNormGrad { epsilon, feature_index } => {
            batch_norm(a, *epsilon, *feature_index, "stablehlo.batch_norm_grad")
        }
        OpKind::BatchNormInference { epsilon, feature_index } => {
            batch_norm(a, *epsilon, *feature_index, "stablehlo.batch_norm_inference")
        }
        OpKind::BatchNormTraining { epsilon, feature_index } => {
            batch_norm(a, *epsilon, *feature_index, "stablehlo.batch_norm_training")
        }
        OpKind::BitcastConvert => "stablehlo.bitcast_convert",
        OpKind::Broadcast { sizes } => {
            a.push("broadcast_sizes", Attribute::i64s(sizes));
            "stablehlo.broadcast"
        }
        OpKind::BroadcastInDim { dimensions } => {
            a.push("broadcast_dimensions", Attribute::i64s(dimensions));
            "stablehlo.broadcast_in_dim"
        }
        OpKind::Call { callee } => {
            a.push("callee", Attribute::Symbol(callee.clone()));
            "func.call"
        }
        OpKind::Case => "stablehlo.case",
        OpKind::Cholesky { lower } => {
            a.push("lower", Attribute::Bool(*lower));
            "stablehlo.cholesky"
        }
        OpKind::Clamp => "stablehlo.clamp",
        OpKind::CollectiveBroadcast { group } => {
            push_group(a, group);
            "stablehlo.collective_broadcast"
        }
        OpKind::CollectivePermute { pairs, channel } => {
            push_channel(a, *channel);
            a.push("source_target_pairs", pair_matrix(pairs));
            "stablehlo.collective_permute"
        }
        OpKind::Compare { direction, kind } => {
            if let Some(kind) = kind {
                a.push("compare_type", enumeration("comparison_type", kind.name()));
            }
            a.push("comparison_direction", enumeration("comparison_direction", direction.name()));
            "stablehlo.compare"
        }
        OpKind::Composite { name, attributes, decomposition, version } => {
            if !attributes.is_empty() {
                a.push("composite_attributes", Attribute::Dictionary(attributes.clone()));
            }
            a.push("decomposition", Attribute::Symbol(decomposition.clone()));
            a.push("name", Attribute::text(name));
            if *version != 0 {
                a.push("version", integer32(*version));
            }
            "stablehlo.composite"
        }
        OpKind::Concatenate { dimension } => {
            a.push("dimension", Attribute::i64(*dimension));
            "stablehlo.concatenate"
        }
        OpKind::Constant(dense) => {
            a.push("value", Attribute::Dense(dense.clone()));
            "stablehlo.constant"
        }
        OpKind::Convert => "stablehlo.convert",
        OpKind::Convolution(convolution) => {
            push_convolution(a, convolution, true);
            "stablehlo.convolution"
        }
        OpKind::CreateToken => "stablehlo.create_token",
        OpKind::CustomCall(call) => {
            push_custom_call(a, call);
            "stablehlo.custom_call"
        }
        OpKind::Dot { precision } => {
            push_precision(a, precision);
            "stablehlo.dot"
        }
        OpKind::DotGeneral(dot) => {
            push_dot(a, dot);
            "stablehlo.dot_general"
        }
        OpKind::DynamicBroadcastInDim { dimensions, expanding, nonexpanding } => {
            a.push("broadcast_dimensions", Attribute::i64s(dimensions));
            if let Some(expanding) = expanding {
                a.push("known_expanding_dimensions", Attribute::i64s(expanding));
            }
            if let Some(nonexpanding) = nonexpanding {
                a.push("known_nonexpanding_dimensions", Attribute::i64s(nonexpanding));
            }
            "stablehlo.dynamic_broadcast_in_dim"
        }
        OpKind::DynamicConv(convolution) => {
            push_convolution(a, convolution, false);
            "stablehlo.dynamic_conv"
        }
        OpKind::DynamicGather(gather) => {
            push_gather(a, gather);
            "stablehlo.dynamic_gather"
        }
        OpKind::DynamicIota { dimension } => {
            a.push("iota_dimension", Attribute::i64(*dimension));
            "stablehlo.dynamic_iota"
        }
        OpKind::DynamicPad => "stablehlo.dynamic_pad",
        OpKind::DynamicReshape => "stablehlo.dynamic_reshape",
        OpKind::DynamicSlice { sizes } => {
            a.push("slice_sizes", Attribute::i64s(sizes));
            "stablehlo.dynamic_slice"
        }
        OpKind::DynamicUpdateSlice => "stablehlo.dynamic_update_slice",
        OpKind::Einsum { config } => {
            a.push("einsum_config", Attribute::text(config));
            "stablehlo.einsum"
        }
        OpKind::Fft { kind, length } => {
            a.push("fft_length", Attribute::i64s(length));
            a.push("fft_type", enumeration("fft_type", kind.name()));
            "stablehlo.fft"
        }
        OpKind::Gather(gather) => {
            push_gather(a, gather);
            a.push("slice_sizes", Attribute::i64s(&gather.slice_sizes));
            "stablehlo.gather"
        }
        OpKind::GetDimensionSize { dimension } => {
            a.push("dimension", Attribute::i64(*dimension));
            "stablehlo.get_dimension_size"
        }
        OpKind::GetTupleElement { index } => {
            a.push("index", integer32(*index));
            "stablehlo.get_tuple_element"
        }
        OpKind::If => "stablehlo.if",
        OpKind::Infeed { config, layout } => {
            a.push("infeed_config", Attribute::String(config.clone()));
            if let Some(layout) = layout {
                a.push("layout", layout.clone());
            }
            "stablehlo.infeed"
        }
        OpKind::Iota { dimension } => {
            a.push("iota_dimension", Attribute::i64(*dimension));
            "stablehlo.iota"
        }
        OpKind::Map { dimensions } => {
            a.push("dimensions", Attribute::i64s(dimensions));
            "stablehlo.map"
        }
        OpKind::OptimizationBarrier => "stablehlo.optimization_barrier",
        OpKind::Outfeed { config } => {
            a.push("outfeed_config", Attribute::String(config.clone()));
            "stablehlo.outfeed"
        }
        OpKind::Pad(padding) => {
            a.push("edge_padding_high", Attribute::i64s(&padding.high));
            a.push("edge_padding_low", Attribute::i64s(&padding.low));
            a.push("interior_padding", Attribute::i64s(&padding.interior));
            "stablehlo.pad"
        }
        OpKind::PartitionId => "stablehlo.partition_id",
        OpKind::RealDynamicSlice => "stablehlo.real_dynamic_slice",
        OpKind::Recv { channel, host_transfer, pairs } => {
            push_transfer(a, *channel, *host_transfer, pairs);
            "stablehlo.recv"
        }
        OpKind::Reduce { dimensions } => {
            a.push("dimensions", Attribute::i64s(dimensions));
            "stablehlo.reduce"
        }
        OpKind::ReducePrecision { exponent_bits, mantissa_bits } => {
            a.push("exponent_bits", integer32(*exponent_bits));
            a.push("mantissa_bits", integer32(*mantissa_bits));
            "stablehlo.reduce_precision"
        }
        OpKind::ReduceScatter { dimension, group } => {
            a.push("scatter_dimension", Attribute::i64(*dimension));
            push_group(a, group);
            "stablehlo.reduce_scatter"
        }
        OpKind::ReduceWindow(window) => {
            push_window(a, window, true);
            "stablehlo.reduce_window"
        }
        OpKind::ReplicaId => "stablehlo.replica_id",
        OpKind::Reshape => "stablehlo.reshape",
        OpKind::Return => "stablehlo.return",
        OpKind::FunctionReturn => "func.return",
        OpKind::Reverse { dimensions } => {
            a.push("dimensions", Attribute::i64s(dimensions));
            "stablehlo.reverse"
        }
        OpKind::Rng { distribution } => {
            a.push("rng_distribution", enumeration("rng_distribution", distribution.name()));
            "stablehlo.rng"
        }
        OpKind::RngBitGenerator { algorithm } => {
            a.push("rng_algorithm", enumeration("rng_algorithm", algorithm.name()));
            "stablehlo.rng_bit_generator"
        }
        OpKind::Scatter(scatter) => {
            push_scatter(a, scatter);
            "stablehlo.scatter"
        }
        OpKind::Select => "stablehlo.select",
        OpKind::SelectAndScatter(window) => {
            push_window(a, window, false);
            "stablehlo.select_and_scatter"
        }
        OpKind::Send { channel, host_transfer, pairs } => {
            push_transfer(a, *channel, *host_transfer, pairs);
            "stablehlo.send"
        }
        OpKind::SetDimensionSize { dimension } => {
            a.push("dimension", Attribute::i64(*dimension));
            "stablehlo.set_dimension_size"
        }
        OpKind::Slice { start, limit, strides } => {
            a.push("limit_indices", Attribute::i64s(limit));
            a.push("start_indices", Attribute::i64s(start));
            a.push("strides", Attribute::i64s(strides));
            "stablehlo.slice"
        }
        OpKind::Sort { dimension, stable } => {
            a.push("dimension", Attribute::i64(*dimension));
            a.push("is_stable", Attribute::Bool(*stable));
            "stablehlo.sort"
        }
        OpKind::TorchIndexSelect { dimension, batch_dimensions } => {
            a.push("batch_dims", Attribute::i64(*batch_dimensions));
            a.push("dim", Attribute::i64(*dimension));
            "stablehlo.torch_index_select"
        }
        OpKind::Transpose { permutation } => {
            a.push("permutation", Attribute::i64s(permutation));
            "stablehlo.transpose"
        }
        OpKind::TriangularSolve { left_side, lower, unit_diagonal, transpose } => {
            a.push("left_side", Attribute::Bool(*left_side));
            a.push("lower", Attribute::Bool(*lower));
            a.push("transpose_a", enumeration("transpose", transpose.name()));
            a.push("unit_diagonal", Attribute::Bool(*unit_diagonal));
            "stablehlo.triangular_solve"
        }
        OpKind::Tuple => "stablehlo.tuple",
        OpKind::UnaryEinsum { config } => {
            a.push("einsum_config", Attribute::text(config));
            "stablehlo.unary_einsum"
        }
        OpKind::UniformDequantize => "stablehlo.uniform_dequantize",
        OpKind::UniformQuantize => "stablehlo.uniform_quantize",
        OpKind::While => "stablehlo.while",
        OpKind::ChloTopK { k, largest } => {
            a.push("k", Attribute::i64(*k));
            if !largest {
                a.push("largest", Attribute::Bool(false));
            }
            "chlo.top_k"
        }
        OpKind::Chlo { name, attributes } => {
            list = attributes.clone();
            return (name, list);
        }
    };
    (name, list)
}

fn batch_norm(
    a: &mut Attributes,
    epsilon: f32,
    feature_index: i64,
    name: &'static str,
) -> &'static str {
    a.push("epsilon", Attribute::Float { value: f64::from(epsilon), dtype: Some(DType::F32) });
    a.push("feature_index", Attribute::i64(feature_index));
    name
}

fn integer32(value: i64) -> Attribute {
    Attribute::Integer { value: i128::from(value), dtype: Some(DType::I32) }
}

fn enumeration(name: &str, value: &str) -> Attribute {
    Attribute::Enumeration { dialect: "stablehlo".into(), name: name.into(), value: value.into() }
}

/// `dense<[[..], ..]> : tensor<RxCxi64>`.
fn matrix(rows: usize, columns: usize, values: impl Iterator<Item = i64>) -> Attribute {
    let bytes: Vec<u8> = values.flat_map(i64::to_le_bytes).collect();
    let ty = TensorType::new(DType::I64, &[rows, columns]);
    Attribute::Dense(Dense { ty, splat: false, bytes: bytes.into() })
}

fn pair_matrix(pairs: &[(i64, i64)]) -> Attribute {
    matrix(pairs.len(), 2, pairs.iter().flat_map(|(low, high)| [*low, *high]))
}

fn push_precision(a: &mut Attributes, precision: &[Precision]) {
    if precision.is_empty() {
        return;
    }
    let items = precision
        .iter()
        .map(|precision| {
            enumeration(
                "precision",
                match precision {
                    Precision::Default => "DEFAULT",
                    Precision::High => "HIGH",
                    Precision::Highest => "HIGHEST",
                },
            )
        })
        .collect();
    a.push("precision_config", Attribute::Array(items));
}

fn push_channel(a: &mut Attributes, channel: Option<Channel>) {
    let Some(channel) = channel else { return };
    let mut fields = Attributes::default();
    fields.push("handle", plain(channel.handle));
    fields.push("type", plain(channel.kind));
    a.push(
        "channel_handle",
        Attribute::Structure { name: "stablehlo.channel_handle".into(), fields },
    );
}

fn push_group(a: &mut Attributes, group: &Group) {
    push_channel(a, group.channel);
    let columns = group.replica_groups.first().map_or(0, Vec::len);
    let values = group.replica_groups.iter().flatten().copied();
    a.push("replica_groups", matrix(group.replica_groups.len(), columns, values));
    if group.use_global_device_ids {
        a.push("use_global_device_ids", Attribute::Unit);
    }
}

fn push_transfer(a: &mut Attributes, channel: Channel, host_transfer: bool, pairs: &[(i64, i64)]) {
    push_channel(a, Some(channel));
    a.push("is_host_transfer", Attribute::Bool(host_transfer));
    if !pairs.is_empty() {
        a.push("source_target_pairs", pair_matrix(pairs));
    }
}

fn push_window(a: &mut Attributes, window: &Window, dilated: bool) {
    if dilated {
        a.push("base_dilations", Attribute::i64s(&window.base_dilations));
    }
    a.push("padding", pair_matrix(&window.padding));
    if dilated {
        a.push("window_dilations", Attribute::i64s(&window.dilations));
    }
    a.push("window_dimensions", Attribute::i64s(&window.sizes));
    a.push("window_strides", Attribute::i64s(&window.strides));
}

/// An integer without a type, as structures have them.
fn plain(value: i64) -> Attribute {
    Attribute::Integer { value: i128::from(value), dtype: None }
}

/// A list without types; left out when empty, as structures do.
fn push_list(fields: &mut Attributes, name: &str, values: &[i64]) {
    if !values.is_empty() {
        fields.push(name, Attribute::Array(values.iter().map(|value| plain(*value)).collect()));
    }
}

fn push_dot(a: &mut Attributes, dot: &DotGeneral) {
    if let Some(algorithm) = &dot.algorithm {
        a.push("algorithm", algorithm.clone());
    }
    let mut fields = Attributes::default();
    push_list(&mut fields, "lhs_batching_dimensions", &dot.lhs_batching);
    push_list(&mut fields, "rhs_batching_dimensions", &dot.rhs_batching);
    push_list(&mut fields, "lhs_contracting_dimensions", &dot.lhs_contracting);
    push_list(&mut fields, "rhs_contracting_dimensions", &dot.rhs_contracting);
    a.push("dot_dimension_numbers", Attribute::Structure { name: "stablehlo.dot".into(), fields });
    push_precision(a, &dot.precision);
}

fn push_gather(a: &mut Attributes, gather: &Gather) {
    let mut fields = Attributes::default();
    push_list(&mut fields, "offset_dims", &gather.offset_dims);
    push_list(&mut fields, "collapsed_slice_dims", &gather.collapsed_slice_dims);
    push_list(&mut fields, "operand_batching_dims", &gather.operand_batching_dims);
    push_list(&mut fields, "start_indices_batching_dims", &gather.start_indices_batching_dims);
    push_list(&mut fields, "start_index_map", &gather.start_index_map);
    if gather.index_vector_dim != 0 {
        fields.push("index_vector_dim", plain(gather.index_vector_dim));
    }
    a.push("dimension_numbers", Attribute::Structure { name: "stablehlo.gather".into(), fields });
    a.push("indices_are_sorted", Attribute::Bool(gather.indices_are_sorted));
}

fn push_scatter(a: &mut Attributes, scatter: &Scatter) {
    let mut fields = Attributes::default();
    push_list(&mut fields, "update_window_dims", &scatter.update_window_dims);
    push_list(&mut fields, "inserted_window_dims", &scatter.inserted_window_dims);
    push_list(&mut fields, "input_batching_dims", &scatter.input_batching_dims);
    push_list(&mut fields, "scatter_indices_batching_dims", &scatter.scatter_indices_batching_dims);
    push_list(&mut fields, "scatter_dims_to_operand_dims", &scatter.scatter_dims_to_operand_dims);
    if scatter.index_vector_dim != 0 {
        fields.push("index_vector_dim", plain(scatter.index_vector_dim));
    }
    a.push("indices_are_sorted", Attribute::Bool(scatter.indices_are_sorted));
    a.push(
        "scatter_dimension_numbers",
        Attribute::Structure { name: "stablehlo.scatter".into(), fields },
    );
    a.push("unique_indices", Attribute::Bool(scatter.unique_indices));
}

fn push_convolution(a: &mut Attributes, convolution: &Convolution, padded: bool) {
    a.push("batch_group_count", Attribute::i64(convolution.batch_group_count));
    let body = convolution.dimensions.notation().unwrap_or_default();
    a.push("dimension_numbers", Attribute::Opaque { name: "stablehlo.conv".into(), body });
    a.push("feature_group_count", Attribute::i64(convolution.feature_group_count));
    a.push("lhs_dilation", Attribute::i64s(&convolution.lhs_dilation));
    if padded {
        a.push("padding", pair_matrix(&convolution.padding));
    }
    push_precision(a, &convolution.precision);
    a.push("rhs_dilation", Attribute::i64s(&convolution.rhs_dilation));
    let reversal = convolution.reversal.iter().map(|reversed| i64::from(*reversed)).collect();
    a.push("window_reversal", Attribute::IntegerArray { dtype: DType::I1, values: reversal });
    a.push("window_strides", Attribute::i64s(&convolution.strides));
}

fn push_custom_call(a: &mut Attributes, call: &CustomCall) {
    a.push("api_version", integer32(call.api_version));
    if let Some(config) = &call.backend_config {
        a.push("backend_config", config.clone());
    }
    a.push("call_target_name", Attribute::text(&call.target));
    if !call.called_computations.is_empty() {
        let names = call.called_computations.iter().cloned().map(Attribute::Symbol).collect();
        a.push("called_computations", Attribute::Array(names));
    }
    if call.has_side_effect {
        a.push("has_side_effect", Attribute::Bool(true));
    }
    a.0.extend(call.interface.0.iter().cloned());
}
