//! Ops that read or write at places given by other tensors.

use super::{ADD, ADD_INTEGERS, Case};

/// Rows of a matrix, by a vector of indices.
macro_rules! gather {
    ($fields:literal, $sizes:literal) => {
        concat!("dimension_numbers = #stablehlo.gather<", $fields, ">, slice_sizes = ", $sizes)
    };
}

macro_rules! scatter {
    ($fields:literal) => {
        concat!("scatter_dimension_numbers = #stablehlo.scatter<", $fields, ">")
    };
}

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    ("dynamic_slice", "", "slice_sizes = []", "", "f32", "expected at least 1 operand"),
    ("dynamic_slice", "f i", "slice_sizes = [1, 1]", "", "1x1xf32", "start indices must have 2 entries, found 1"),
    ("dynamic_slice", "f i l", "slice_sizes = [1, 1]", "", "1x1xf32", "start indices must be scalar integers of one type, found tensor<i64>"),
    ("dynamic_slice", "f i i", "slice_sizes = [1]", "", "1x1xf32", "slice_sizes must have 2 entries, found 1"),
    ("dynamic_slice", "f i i", "slice_sizes = [1, 4]", "", "1x4xf32", "a slice of 4 does not fit dimension 1 of tensor<2x3xf32>"),
    ("dynamic_slice", "f i i", "slice_sizes = [1, 2]", "", "1x1xf32", "the result must be a tensor<1x2xf32>"),
    ("dynamic_update_slice", "f", "", "", "2x3xf32", "expected at least 2 operands"),
    ("dynamic_update_slice", "f g i i", "", "", "2x3xf32", "the update tensor<3x2xf32> does not fit tensor<2x3xf32>"),
    ("dynamic_update_slice", "f f i s", "", "", "2x3xf32", "start indices must be scalar integers of one type, found tensor<f32>"),
    ("gather", "f", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1, 3]"), "", "2x3xf32", "operands must have 2 entries, found 1"),
    ("gather", "f w", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1, 3]"), "", "2x3xf32", "start_indices must be integers, found tensor<2xf32>"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2", "[1, 3]"), "", "2x3xf32", "index_vector_dim must be from 0 to 1, found 2"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1", "[1, 3]"), "", "2x3xf32", "start_index_map must have 1 entries, found [0, 1]"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1", "[1, 3]"), "", "2x3xf32", "collapsed_slice_dims must be a dimension from 0 to 1, found 2"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1", "[1, 1]"), "", "2xf32", "collapsed_slice_dims must be in increasing order, found [1, 0]"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1, 3]"), "", "2x3xf32", "dimension 0 is both collapsed and batching"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [1], start_index_map = [0], index_vector_dim = 1", "[1, 1]"), "", "2x3xf32", "start_indices_batching_dims must have 1 entry, found 0"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1]"), "", "2x3xf32", "slice_sizes must have 2 entries, found 1"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1, 4]"), "", "2x4xf32", "a slice of 4 does not fit dimension 1 of tensor<2x3xf32>"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[2, 3]"), "", "2x3xf32", "the slice of dimension 0 must be at most 1 to be collapsed, found 2"),
    ("gather", "f n", gather!("offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1, 3]"), "", "2x3xf32", "offset_dims must have 1 entry, found 0"),
    ("gather", "f n", gather!("offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1, 3]"), "", "2x3xf32", "offset_dims must be a dimension from 0 to 1, found 2"),
    ("gather", "f n", gather!("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "[1, 3]"), "", "3x2xf32", "the result must be a tensor<2x3xf32>"),
    ("dynamic_gather", "f n n", "dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>", "", "2x3xf32", "offset_dims must be a dimension from 0 to 1, found 2"),
    ("scatter", "f f", scatter!("update_window_dims = [1]"), ADD, "2x3xf32", "expected inputs, indices and as many updates, found 2 operands"),
    ("scatter", "f w f", scatter!("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD, "2x3xf32", "scatter_indices must be integers, found tensor<2xf32>"),
    ("scatter", "f n f", scatter!("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"), ADD, "2x3xf32", "scatter_dims_to_operand_dims must have 1 entries, found [0, 1]"),
    ("scatter", "f n f", scatter!("update_window_dims = [1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD, "2x3xf32", "inserted_window_dims must be a dimension from 0 to 1, found 2"),
    ("scatter", "f n f", scatter!("update_window_dims = [1], inserted_window_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD, "2x3xf32", "update_window_dims must have 2 entries, found 1"),
    ("scatter", "f n f", scatter!("update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1"), ADD, "2x3xf32", "scatter_indices_batching_dims must have 1 entry, found 0"),
    ("scatter", "f g n f f", scatter!("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD, "2x3xf32 3x2xf32", "all inputs must have one shape, and all updates"),
    ("scatter", "f n g", scatter!("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD, "2x3xf32", "the dimensions of the update tensor<3x2xf32> outside its windows must be those of the indices tensor<2xi32>"),
    ("scatter", "g n f", scatter!("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD, "3x2xf32", "the window of the update tensor<2x3xf32> does not fit dimension 1 of tensor<3x2xf32>"),
    ("scatter", "f n f", scatter!("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD_INTEGERS, "2x3xf32", "argument 1 of its region must be a tensor<f32>, found tensor<i32>"),
    ("scatter", "f n f", scatter!("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"), ADD, "3x2xf32", "the result must be a tensor<2x3xf32>"),
    ("torch_index_select", "f n", "dim = 2, batch_dims = 0", "", "2x3xf32", "dim must be a dimension from 0 to 1, found 2"),
    ("torch_index_select", "f n", "dim = 0, batch_dims = 2", "", "2x3xf32", "batch_dims must be from 0 to 1, found 2"),
    ("torch_index_select", "f n", "dim = 0, batch_dims = 0", "", "2x3xi32", "the result must have the elements of tensor<2x3xf32>"),
];
