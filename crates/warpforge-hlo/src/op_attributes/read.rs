//! From attributes to kinds: one arm for each op.

use super::names::nearest;
use super::reader::{Read, Reader};
use crate::attribute::{Attribute, Attributes};
use crate::ir::{
    Binary, CompareKind, Convolution, ConvolutionDimensions, CustomCall, Direction, Distribution,
    DotGeneral, FftKind, Gather, OpKind, Padding, RandomAlgorithm, Scatter, Transpose, Unary,
    Window,
};
use crate::types::{TensorType, Type};

/// The kind of the op `name`, taking what belongs to it out of `attributes`; what is left does not change what is
/// computed. The message says what is wrong.
pub(crate) fn kind_of(
    name: &str,
    attributes: &mut Attributes,
    operands: &[&Type],
) -> Result<OpKind, String> {
    if let Some(unary) = Unary::from_name(name) {
        return Ok(OpKind::Unary(unary));
    }
    if let Some(binary) = Binary::from_name(name) {
        return Ok(OpKind::Binary(binary));
    }
    let rank = operands.first().and_then(|ty| ty.tensor()).map_or(0, TensorType::rank);
    let mut reader = Reader { op: name, attributes };
    let Some(short) = name.strip_prefix("stablehlo.") else {
        return outside(name, &mut reader);
    };
    let r = &mut reader;
    Ok(match short {
        "after_all" => OpKind::AfterAll,
        "all_gather" => {
            OpKind::AllGather { dimension: r.i64("all_gather_dim")?, group: r.group()? }
        }
        "all_reduce" => OpKind::AllReduce { group: r.group()? },
        "all_to_all" => OpKind::AllToAll {
            split_dimension: r.i64("split_dimension")?,
            concat_dimension: r.i64("concat_dimension")?,
            split_count: r.i64("split_count")?,
            group: r.group()?,
        },
        "batch_norm_grad" => OpKind::BatchNormGrad {
            epsilon: r.f32("epsilon")?,
            feature_index: r.i64("feature_index")?,
        },
        "batch_norm_inference" => OpKind::BatchNormInference {
            epsilon: r.f32("epsilon")?,
            feature_index: r.i64("feature_index")?,
        },
        "batch_norm_training" => OpKind::BatchNormTraining {
            epsilon: r.f32("epsilon")?,
            feature_index: r.i64("feature_index")?,
        },
        "bitcast_convert" => OpKind::BitcastConvert,
        "broadcast" => OpKind::Broadcast { sizes: r.i64s("broadcast_sizes")? },
        "broadcast_in_dim" => {
            OpKind::BroadcastInDim { dimensions: r.i64s("broadcast_dimensions")? }
        }
        "case" => OpKind::Case,
        "cholesky" => OpKind::Cholesky { lower: r.bool("lower", false)? },
        "clamp" => OpKind::Clamp,
        "collective_broadcast" => OpKind::CollectiveBroadcast { group: r.group()? },
        "collective_permute" => OpKind::CollectivePermute {
            pairs: r.pairs_or("source_target_pairs", 0)?,
            channel: r.channel()?,
        },
        "compare" => OpKind::Compare {
            direction: r.required_choice("comparison_direction", Direction::from_name)?,
            kind: r.choice("compare_type", compare_kind)?.flatten(),
        },
        "composite" => composite(r)?,
        "concatenate" => OpKind::Concatenate { dimension: r.i64("dimension")? },
        "constant" => match r.take("value") {
            Some(Attribute::Dense(dense)) => OpKind::Constant(dense),
            Some(other) => {
                return Err(format!(
                    "{name}: `value` must be a constant, found {}",
                    other.describe()
                ));
            }
            None => return Err(format!("{name}: attribute `value` is missing")),
        },
        "convert" => OpKind::Convert,
        "convolution" => OpKind::Convolution(Box::new(convolution(r, rank)?)),
        "create_token" => OpKind::CreateToken,
        "custom_call" => OpKind::CustomCall(Box::new(custom_call(r)?)),
        "dot" => OpKind::Dot { precision: r.precision("precision_config")? },
        "dot_general" => OpKind::DotGeneral(Box::new(dot_general(r)?)),
        "dynamic_broadcast_in_dim" => OpKind::DynamicBroadcastInDim {
            dimensions: r.i64s("broadcast_dimensions")?,
            expanding: r.optional_i64s("known_expanding_dimensions")?,
            nonexpanding: r.optional_i64s("known_nonexpanding_dimensions")?,
        },
        "dynamic_conv" => OpKind::DynamicConv(Box::new(convolution(r, rank)?)),
        "dynamic_gather" => OpKind::DynamicGather(Box::new(gather(r)?)),
        "dynamic_iota" => OpKind::DynamicIota { dimension: r.i64("iota_dimension")? },
        "dynamic_pad" => OpKind::DynamicPad,
        "dynamic_reshape" => OpKind::DynamicReshape,
        "dynamic_slice" => OpKind::DynamicSlice { sizes: r.i64s("slice_sizes")? },
        "dynamic_update_slice" => OpKind::DynamicUpdateSlice,
        "einsum" => OpKind::Einsum { config: r.text("einsum_config")? },
        "fft" => OpKind::Fft {
            kind: r.required_choice("fft_type", FftKind::from_name)?,
            length: r.i64s("fft_length")?,
        },
        "gather" => {
            let mut gather = gather(r)?;
            gather.slice_sizes = r.i64s("slice_sizes")?;
            OpKind::Gather(Box::new(gather))
        }
        "get_dimension_size" => OpKind::GetDimensionSize { dimension: r.i64("dimension")? },
        "get_tuple_element" => OpKind::GetTupleElement { index: r.i64("index")? },
        "if" => OpKind::If,
        "infeed" => OpKind::Infeed { config: r.bytes("infeed_config")?, layout: r.take("layout") },
        "iota" => OpKind::Iota { dimension: r.i64("iota_dimension")? },
        "map" => OpKind::Map { dimensions: r.i64s("dimensions")? },
        "optimization_barrier" => OpKind::OptimizationBarrier,
        "outfeed" => OpKind::Outfeed { config: r.bytes("outfeed_config")? },
        "pad" => OpKind::Pad(Box::new(Padding {
            low: r.i64s("edge_padding_low")?,
            high: r.i64s("edge_padding_high")?,
            interior: r.i64s("interior_padding")?,
        })),
        "partition_id" => OpKind::PartitionId,
        "real_dynamic_slice" => OpKind::RealDynamicSlice,
        "recv" | "send" => {
            let channel =
                r.channel()?.ok_or_else(|| format!("{name}: `channel_handle` is missing"))?;
            let host_transfer = r.bool("is_host_transfer", false)?;
            let pairs = r.pairs_or("source_target_pairs", 0)?;
            match short {
                "recv" => OpKind::Recv { channel, host_transfer, pairs },
                _ => OpKind::Send { channel, host_transfer, pairs },
            }
        }
        "reduce" => OpKind::Reduce { dimensions: r.i64s("dimensions")? },
        "reduce_precision" => OpKind::ReducePrecision {
            exponent_bits: r.i64("exponent_bits")?,
            mantissa_bits: r.i64("mantissa_bits")?,
        },
        "reduce_scatter" => {
            OpKind::ReduceScatter { dimension: r.i64("scatter_dimension")?, group: r.group()? }
        }
        "reduce_window" => OpKind::ReduceWindow(Box::new(Window {
            sizes: r.i64s("window_dimensions")?,
            strides: r.i64s_or("window_strides", rank, 1)?,
            base_dilations: r.i64s_or("base_dilations", rank, 1)?,
            dilations: r.i64s_or("window_dilations", rank, 1)?,
            padding: r.pairs_or("padding", rank)?,
        })),
        "replica_id" => OpKind::ReplicaId,
        "reshape" => OpKind::Reshape,
        "return" => OpKind::Return,
        "reverse" => OpKind::Reverse { dimensions: r.i64s("dimensions")? },
        "rng" => OpKind::Rng {
            distribution: r.required_choice("rng_distribution", Distribution::from_name)?,
        },
        "rng_bit_generator" => OpKind::RngBitGenerator {
            algorithm: r.required_choice("rng_algorithm", RandomAlgorithm::from_name)?,
        },
        "scatter" => OpKind::Scatter(Box::new(scatter(r)?)),
        "select" => OpKind::Select,
        "select_and_scatter" => OpKind::SelectAndScatter(Box::new(Window {
            sizes: r.i64s_or("window_dimensions", rank, 1)?,
            strides: r.i64s_or("window_strides", rank, 1)?,
            base_dilations: vec![1; rank],
            dilations: vec![1; rank],
            padding: r.pairs_or("padding", rank)?,
        })),
        "set_dimension_size" => OpKind::SetDimensionSize { dimension: r.i64("dimension")? },
        "slice" => OpKind::Slice {
            start: r.i64s("start_indices")?,
            limit: r.i64s("limit_indices")?,
            strides: r.i64s("strides")?,
        },
        "sort" => OpKind::Sort {
            dimension: r.optional_i64("dimension")?.unwrap_or(-1),
            stable: r.bool("is_stable", false)?,
        },
        "torch_index_select" => OpKind::TorchIndexSelect {
            dimension: r.i64("dim")?,
            batch_dimensions: r.i64("batch_dims")?,
        },
        "transpose" => OpKind::Transpose { permutation: r.i64s("permutation")? },
        "triangular_solve" => OpKind::TriangularSolve {
            left_side: r.bool("left_side", false)?,
            lower: r.bool("lower", false)?,
            unit_diagonal: r.bool("unit_diagonal", false)?,
            transpose: r.required_choice("transpose_a", Transpose::from_name)?,
        },
        "tuple" => OpKind::Tuple,
        "unary_einsum" => OpKind::UnaryEinsum { config: r.text("einsum_config")? },
        "uniform_dequantize" => OpKind::UniformDequantize,
        "uniform_quantize" => OpKind::UniformQuantize,
        "while" => OpKind::While,
        _ => {
            let meant = nearest(name)
                .map_or_else(String::new, |known| format!("; did you mean `{known}`?"));
            return Err(format!("`{name}` is not an op of StableHLO{meant}"));
        }
    })
}

/// `NOTYPE` is what old exporters write for "as the elements say".
fn compare_kind(name: &str) -> Option<Option<CompareKind>> {
    if name == "NOTYPE" { Some(None) } else { CompareKind::from_name(name).map(Some) }
}

/// Ops of other dialects.
fn outside(name: &str, r: &mut Reader<'_>) -> Read<OpKind> {
    Ok(match name {
        "func.return" => OpKind::FunctionReturn,
        "func.call" => OpKind::Call { callee: r.symbol("callee")? },
        "chlo.top_k" => OpKind::ChloTopK { k: r.i64("k")?, largest: r.bool("largest", true)? },
        _ if name.starts_with("chlo.") => {
            OpKind::Chlo { name: name.to_owned(), attributes: std::mem::take(r.attributes) }
        }
        _ => {
            let dialect = name.split('.').next().unwrap_or(name);
            return Err(format!(
                "`{name}` is not StableHLO: the dialect `{dialect}` is not read; \
                 export with all ops lowered to stablehlo or chlo"
            ));
        }
    })
}

fn composite(r: &mut Reader<'_>) -> Read<OpKind> {
    let attributes = match r.take("composite_attributes") {
        None => Attributes::default(),
        Some(Attribute::Dictionary(attributes)) => attributes,
        Some(other) => {
            return Err(format!(
                "composite_attributes must be a dictionary, found {}",
                other.describe()
            ));
        }
    };
    Ok(OpKind::Composite {
        name: r.text("name")?,
        attributes,
        decomposition: r.symbol("decomposition")?,
        version: r.optional_i64("version")?.unwrap_or(0),
    })
}

fn dot_general(r: &mut Reader<'_>) -> Read<DotGeneral> {
    let mut fields = r.required_structure("dot_dimension_numbers")?;
    let mut d = Reader { op: r.op, attributes: &mut fields };
    Ok(DotGeneral {
        lhs_batching: d.i64s_or("lhs_batching_dimensions", 0, 0)?,
        rhs_batching: d.i64s_or("rhs_batching_dimensions", 0, 0)?,
        lhs_contracting: d.i64s_or("lhs_contracting_dimensions", 0, 0)?,
        rhs_contracting: d.i64s_or("rhs_contracting_dimensions", 0, 0)?,
        precision: r.precision("precision_config")?,
        algorithm: r.take("algorithm"),
    })
}

fn convolution(r: &mut Reader<'_>, rank: usize) -> Read<Convolution> {
    let dimensions = match r.take("dimension_numbers") {
        Some(Attribute::Structure { mut fields, .. }) => {
            let mut d = Reader { op: r.op, attributes: &mut fields };
            ConvolutionDimensions {
                input_batch: d.i64("input_batch_dimension")?,
                input_feature: d.i64("input_feature_dimension")?,
                input_spatial: d.i64s_or("input_spatial_dimensions", 0, 0)?,
                kernel_input_feature: d.i64("kernel_input_feature_dimension")?,
                kernel_output_feature: d.i64("kernel_output_feature_dimension")?,
                kernel_spatial: d.i64s_or("kernel_spatial_dimensions", 0, 0)?,
                output_batch: d.i64("output_batch_dimension")?,
                output_feature: d.i64("output_feature_dimension")?,
                output_spatial: d.i64s_or("output_spatial_dimensions", 0, 0)?,
            }
        }
        Some(Attribute::Opaque { body, .. }) => ConvolutionDimensions::from_notation(&body)
            .map_err(|wrong| format!("{}: {wrong}", r.op))?,
        _ => return Err(format!("{}: attribute `dimension_numbers` is missing", r.op)),
    };
    let spatial = rank.saturating_sub(2);
    Ok(Convolution {
        dimensions,
        strides: r.i64s_or("window_strides", spatial, 1)?,
        padding: r.pairs_or("padding", spatial)?,
        lhs_dilation: r.i64s_or("lhs_dilation", spatial, 1)?,
        rhs_dilation: r.i64s_or("rhs_dilation", spatial, 1)?,
        reversal: r.bools_or("window_reversal", spatial)?,
        feature_group_count: r.optional_i64("feature_group_count")?.unwrap_or(1),
        batch_group_count: r.optional_i64("batch_group_count")?.unwrap_or(1),
        precision: r.precision("precision_config")?,
    })
}

fn gather(r: &mut Reader<'_>) -> Read<Gather> {
    let mut fields = r.required_structure("dimension_numbers")?;
    let mut d = Reader { op: r.op, attributes: &mut fields };
    Ok(Gather {
        offset_dims: d.i64s_or("offset_dims", 0, 0)?,
        collapsed_slice_dims: d.i64s_or("collapsed_slice_dims", 0, 0)?,
        operand_batching_dims: d.i64s_or("operand_batching_dims", 0, 0)?,
        start_indices_batching_dims: d.i64s_or("start_indices_batching_dims", 0, 0)?,
        start_index_map: d.i64s_or("start_index_map", 0, 0)?,
        index_vector_dim: d.optional_i64("index_vector_dim")?.unwrap_or(0),
        slice_sizes: Vec::new(),
        indices_are_sorted: r.bool("indices_are_sorted", false)?,
    })
}

fn scatter(r: &mut Reader<'_>) -> Read<Scatter> {
    let mut fields = r.required_structure("scatter_dimension_numbers")?;
    let mut d = Reader { op: r.op, attributes: &mut fields };
    Ok(Scatter {
        update_window_dims: d.i64s_or("update_window_dims", 0, 0)?,
        inserted_window_dims: d.i64s_or("inserted_window_dims", 0, 0)?,
        input_batching_dims: d.i64s_or("input_batching_dims", 0, 0)?,
        scatter_indices_batching_dims: d.i64s_or("scatter_indices_batching_dims", 0, 0)?,
        scatter_dims_to_operand_dims: d.i64s_or("scatter_dims_to_operand_dims", 0, 0)?,
        index_vector_dim: d.optional_i64("index_vector_dim")?.unwrap_or(0),
        indices_are_sorted: r.bool("indices_are_sorted", false)?,
        unique_indices: r.bool("unique_indices", false)?,
    })
}

fn custom_call(r: &mut Reader<'_>) -> Read<CustomCall> {
    let called_computations = match r.take("called_computations") {
        None => Vec::new(),
        Some(Attribute::Array(items)) => items
            .into_iter()
            .map(|item| match item {
                Attribute::Symbol(name) => Ok(name),
                other => {
                    Err(format!("called_computations must be symbols, found {}", other.describe()))
                }
            })
            .collect::<Read<_>>()?,
        Some(other) => {
            return Err(format!(
                "called_computations must be an array, found {}",
                other.describe()
            ));
        }
    };
    let mut interface = Attributes::default();
    for name in ["operand_layouts", "result_layouts", "output_operand_aliases"] {
        if let Some(value) = r.take(name) {
            interface.push(name, value);
        }
    }
    Ok(CustomCall {
        target: r.text("call_target_name")?,
        has_side_effect: r.bool("has_side_effect", false)?,
        backend_config: r.take("backend_config"),
        api_version: r.optional_i64("api_version")?.unwrap_or(1),
        called_computations,
        interface,
    })
}
