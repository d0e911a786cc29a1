//! Matrix products and convolutions.

use super::Case;

macro_rules! dot {
    ($fields:literal) => {
        concat!("dot_dimension_numbers = #stablehlo.dot<", $fields, ">")
    };
}

macro_rules! convolution {
    ($rest:literal) => {
        concat!(
            "dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>",
            $rest
        )
    };
}

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    ("dot", "image v", "", "", "1xf32", "operands must be vectors or matrices, found tensor<1x3x8x8xf32> and tensor<3xf32>"),
    ("dot", "f f", "", "", "2x3xf32", "the last dimension of tensor<2x3xf32> must be the first of tensor<2x3xf32>"),
    ("dot", "f g", "", "", "3x3xf32", "the result must have the shape of tensor<2x2xf32>, found tensor<3x3xf32>"),
    ("dot_general", "f g", dot!("lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]"), "", "2x2xf32", "lhs_contracting_dimensions must be a dimension from 0 to 1, found 2"),
    ("dot_general", "f g", dot!("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = []"), "", "2x2xf32", "rhs_contracting_dimensions must have 1 entry, found 0"),
    ("dot_general", "f f", dot!("lhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]"), "", "2x2xf32", "rhs_batching_dimensions must have 1 entry, found 0"),
    ("dot_general", "f f", dot!("lhs_batching_dimensions = [1], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]"), "", "3xf32", "dimension 1 is both batching and contracting"),
    ("dot_general", "f f", dot!("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"), "", "2x3xf32", "dimension 1 of tensor<2x3xf32> has size 3, but dimension 0 of tensor<2x3xf32> has 2"),
    ("dot_general", "f g", concat!(dot!("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"), ", precision_config = [\"HIGH\"]"), "", "2x2xf32", "precision must have 2 entries, found 1"),
    ("dot_general", "f g", dot!("lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"), "", "2x3xf32", "the result must have the shape of tensor<2x2xf32>"),
    ("convolution", "v kernel", convolution!(""), "", "1x4x6x6xf32", "operands must have one rank of at least 2, found tensor<3xf32> and tensor<4x3x3x3xf32>"),
    ("convolution", "image kernel image", convolution!(""), "", "1x4x6x6xf32", "operands must have 2 entries, found 3"),
    ("convolution", "f g", "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>", "", "2x2xf32", "input dimensions must have 0 entries, found 1"),
    ("convolution", "image kernel", "dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0]->[b, f, 0, 1]>", "", "1x4x6x6xf32", "kernel dimensions must have 2 entries, found 1"),
    ("convolution", "image kernel", "dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0]>", "", "1x4x6x6xf32", "output dimensions must have 2 entries, found 1"),
    ("convolution", "image kernel", convolution!(", window_strides = [1]"), "", "1x4x6x6xf32", "window_strides must have 2 entries, found 1"),
    ("convolution", "image kernel", convolution!(", padding = [[0, 0]]"), "", "1x4x6x6xf32", "padding must have 2 entries, found 1"),
    ("convolution", "image kernel", convolution!(", lhs_dilation = [1]"), "", "1x4x6x6xf32", "lhs_dilation must have 2 entries, found 1"),
    ("convolution", "image kernel", convolution!(", rhs_dilation = [1]"), "", "1x4x6x6xf32", "rhs_dilation must have 2 entries, found 1"),
    ("convolution", "image kernel", convolution!(", window_reversal = [true]"), "", "1x4x6x6xf32", "window_reversal must have 2 entries, found 1"),
    ("convolution", "image kernel", convolution!(", window_strides = [0, 1]"), "", "1x4x6x6xf32", "strides and dilations must be at least 1, found 0"),
    ("convolution", "image kernel", convolution!(", feature_group_count = 0"), "", "1x4x6x6xf32", "group counts must be at least 1 and only one above, found 0 and 1"),
    ("convolution", "image kernel", convolution!(", feature_group_count = 3"), "", "1x4x6x6xf32", "3 input features do not split into 3 groups of the kernel's 3"),
    ("convolution", "image kernel", convolution!(", batch_group_count = 2"), "", "1x4x6x6xf32", "a batch of 1 and 4 outputs do not split into 2 and 1 groups"),
    ("convolution", "image kernel", convolution!(", padding = [[-9, 0], [0, 0]]"), "", "1x4x6x6xf32", "negative padding leaves less than nothing"),
    ("convolution", "image kernel", convolution!(", lhs_dilation = [9000000000000000000, 1]"), "", "1x4x6x6xf32", "the result is too large"),
    ("convolution", "image kernel", convolution!(""), "", "1x4x8x8xf32", "the result must have the shape of tensor<1x4x6x6xf32>, found tensor<1x4x8x8xf32>"),
    ("dynamic_conv", "image kernel", convolution!(""), "", "1x4x6x6xf32", "operands must have 3 entries, found 2"),
];
