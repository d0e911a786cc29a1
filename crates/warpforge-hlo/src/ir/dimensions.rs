//! The attributes of ops that have many: which dimension means what, windows, groups, calls.
//!
//! Sizes and dimensions are as the text has them; that they lie within range is for the verifier to say.

use crate::attribute::{Attribute, Attributes};

/// How exactly products are to be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Precision {
    Default,
    High,
    Highest,
}

/// A matrix product.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct DotGeneral {
    pub lhs_batching: Vec<i64>,
    pub rhs_batching: Vec<i64>,
    pub lhs_contracting: Vec<i64>,
    pub rhs_contracting: Vec<i64>,
    pub precision: Vec<Precision>,
    /// `#stablehlo.dot_algorithm`, where given.
    pub algorithm: Option<Attribute>,
}

/// Which dimension of a convolution means what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct ConvolutionDimensions {
    pub input_batch: i64,
    pub input_feature: i64,
    pub input_spatial: Vec<i64>,
    pub kernel_input_feature: i64,
    pub kernel_output_feature: i64,
    pub kernel_spatial: Vec<i64>,
    pub output_batch: i64,
    pub output_feature: i64,
    pub output_spatial: Vec<i64>,
}

/// A convolution.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct Convolution {
    pub dimensions: ConvolutionDimensions,
    pub strides: Vec<i64>,
    /// None where the padding is an operand.
    pub padding: Vec<(i64, i64)>,
    pub lhs_dilation: Vec<i64>,
    pub rhs_dilation: Vec<i64>,
    pub reversal: Vec<bool>,
    pub feature_group_count: i64,
    pub batch_group_count: i64,
    pub precision: Vec<Precision>,
}

/// A window that slides over a tensor; one entry for each dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Window {
    pub sizes: Vec<i64>,
    pub strides: Vec<i64>,
    pub base_dilations: Vec<i64>,
    pub dilations: Vec<i64>,
    pub padding: Vec<(i64, i64)>,
}

/// Space put around and between elements; one entry for each dimension.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Padding {
    pub low: Vec<i64>,
    pub high: Vec<i64>,
    pub interior: Vec<i64>,
}

/// Which slices a gather takes and where it puts them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Gather {
    pub offset_dims: Vec<i64>,
    pub collapsed_slice_dims: Vec<i64>,
    pub operand_batching_dims: Vec<i64>,
    pub start_indices_batching_dims: Vec<i64>,
    pub start_index_map: Vec<i64>,
    pub index_vector_dim: i64,
    /// Empty for `dynamic_gather`, where the sizes are an operand.
    pub slice_sizes: Vec<i64>,
    pub indices_are_sorted: bool,
}

/// Where a scatter puts its updates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Scatter {
    pub update_window_dims: Vec<i64>,
    pub inserted_window_dims: Vec<i64>,
    pub input_batching_dims: Vec<i64>,
    pub scatter_indices_batching_dims: Vec<i64>,
    pub scatter_dims_to_operand_dims: Vec<i64>,
    pub index_vector_dim: i64,
    pub indices_are_sorted: bool,
    pub unique_indices: bool,
}

/// What tells the messages of one collective from those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Channel {
    pub handle: i64,
    pub kind: i64,
}

/// The processes that take part in a collective.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Group {
    /// Rows of process numbers; -1 fills rows that are shorter.
    pub replica_groups: Vec<Vec<i64>>,
    pub channel: Option<Channel>,
    pub use_global_device_ids: bool,
}

/// A call to something outside the specification.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(missing_docs)]
pub struct CustomCall {
    pub target: String,
    pub has_side_effect: bool,
    /// A string or a dictionary, as the version of the interface has it.
    pub backend_config: Option<Attribute>,
    pub api_version: i64,
    pub called_computations: Vec<String>,
    /// Layouts and aliases, kept as written: `operand_layouts`, `result_layouts`, `output_operand_aliases`.
    pub interface: Attributes,
}
