//! Ops that fold elements together.

use super::{ADD, ADD_INTEGERS, Case, LESS, NOTHING};

const RETURNS_TWO: &str =
    "^r(%ra: tensor<f32>, %rb: tensor<f32>): stablehlo.return %ra, %rb : tensor<f32>, tensor<f32>";
const RETURNS_A_VECTOR: &str =
    "^r(%ra: tensor<2xf32>, %rb: tensor<2xf32>): stablehlo.return %ra : tensor<2xf32>";
const NORM: &str = "epsilon = 0.1 : f32, feature_index = 1";

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    ("reduce", "f", "dimensions = [0]", ADD, "3xf32", "expected inputs and as many initial values, found 1 operands"),
    ("reduce", "f g s s", "dimensions = [0]", ADD, "3xf32 3xf32", "all inputs must have one shape, found tensor<2x3xf32> and tensor<3x2xf32>"),
    ("reduce", "f v", "dimensions = [0]", ADD, "3xf32", "initial values must be scalars, found tensor<3xf32>"),
    ("reduce", "f s", "dimensions = [0, 0]", ADD, "f32", "dimensions must not repeat a dimension"),
    ("reduce", "f i", "dimensions = [0]", ADD, "3xf32", "the initial value tensor<i32> fits neither tensor<2x3xf32> nor tensor<f32>"),
    ("reduce", "f s", "dimensions = [0]", "", "3xf32", "expected 1 region, found 0"),
    ("reduce", "f s", "dimensions = [0]", RETURNS_TWO, "3xf32", "its region must return 1 scalar, found 2"),
    ("reduce", "f s", "dimensions = [0]", RETURNS_A_VECTOR, "3xf32", "argument 1 of its region must be a tensor<f32>, found tensor<2xf32>"),
    ("reduce", "f s", "dimensions = [0]", LESS, "3xf32", "argument 1 of its region must be a tensor<i1>, found tensor<f32>"),
    ("reduce", "f s", "dimensions = [0]", ADD, "2xf32", "the result must be a tensor<3xf32>, found tensor<2xf32>"),
    ("reduce_window", "f s", "window_dimensions = [1]", ADD, "2x3xf32", "window_dimensions must have 2 entries, found 1"),
    ("reduce_window", "f s", "window_dimensions = [1, 1], window_strides = [1]", ADD, "2x3xf32", "window_strides must have 2 entries, found 1"),
    ("reduce_window", "f s", "window_dimensions = [1, 1], base_dilations = [1]", ADD, "2x3xf32", "base_dilations must have 2 entries, found 1"),
    ("reduce_window", "f s", "window_dimensions = [1, 1], window_dilations = [1]", ADD, "2x3xf32", "window_dilations must have 2 entries, found 1"),
    ("reduce_window", "f s", "window_dimensions = [1, 1], padding = [[0, 0]]", ADD, "2x3xf32", "padding must have 2 entries, found 1"),
    ("reduce_window", "f s", "window_dimensions = [0, 1]", ADD, "2x3xf32", "sizes, strides and dilations of a window must be at least 1, found 0"),
    ("reduce_window", "f s", "window_dimensions = [2, 2]", ADD, "2x3xf32", "the result must be a tensor<1x2xf32>, found tensor<2x3xf32>"),
    ("select_and_scatter", "f g s", "", "{L}|{A}", "2x3xf32", "the source must be a tensor<2x3xf32>, found tensor<3x2xf32>"),
    ("select_and_scatter", "f f v", "", "{L}|{A}", "2x3xf32", "the initial value must be a scalar, found tensor<3xf32>"),
    ("select_and_scatter", "f f s", "", "{L}", "2x3xf32", "expected 2 regions, found 1"),
    ("select_and_scatter", "f f s", "", "{A}|{A}", "2x3xf32", "returned value 1 of its region must be a tensor<i1>, found tensor<f32>"),
    ("select_and_scatter", "f f s", "", "{L}|{N}", "2x3xf32", "its second region must return a scalar"),
    ("select_and_scatter", "f f s", "", "{L}|{A}", "3x2xf32", "the result must be a tensor<2x3xf32>"),
    ("sort", "", "dimension = 0", LESS, "", "expected at least 1 operand"),
    ("sort", "f g", "dimension = 0", LESS, "2x3xf32 3x2xf32", "all inputs must have one shape"),
    ("sort", "f", "dimension = 2", LESS, "2x3xf32", "dimension must be from -2 to 1, found 2"),
    ("sort", "f", "dimension = 0", ADD, "2x3xf32", "returned value 1 of its region must be a tensor<i1>"),
    ("sort", "f", "dimension = 0", NOTHING, "2x3xf32", "its region must have 2 arguments, found 0"),
    ("sort", "q", "dimension = 0", ADD_INTEGERS, "2x3xi32", "returned value 1 of its region must be a tensor<i1>, found tensor<i32>"),
    ("sort", "f", "dimension = 0", LESS, "3x2xf32", "the result must be a tensor<2x3xf32>"),
    ("chlo.top_k", "s", "k = 1", "", "f32 i32", "the operand must have a dimension"),
    ("chlo.top_k", "f", "k = -1", "", "f32 i32", "k must not be negative, found -1"),
    ("chlo.top_k", "f", "k = 4", "", "2x4xf32 2x4xi32", "k must be at most 3, found 4"),
    ("chlo.top_k", "f", "k = 2", "", "2x2xf32 2x3xi32", "the result must be a tensor<2x2xi32>"),
    ("batch_norm_training", "q v v", NORM, "", "2x3xi32 3xf32 3xf32", "the operand must be of floats, found tensor<2x3xi32>"),
    ("batch_norm_training", "f w v", NORM, "", "2x3xf32 3xf32 3xf32", "expected a vector as long as dimension 1 of tensor<2x3xf32>, found tensor<2xf32>"),
    ("batch_norm_training", "f v v", "epsilon = 0.1 : f32, feature_index = 2", "", "2x3xf32 3xf32 3xf32", "feature_index must be a dimension from 0 to 1, found 2"),
    ("batch_norm_training", "f v v", NORM, "", "2x3xf32 3xf32", "expected 3 results, found 2"),
    ("batch_norm_inference", "f v v v w", NORM, "", "2x3xf32", "expected a vector as long as dimension 1"),
    ("batch_norm_grad", "f v v v g", NORM, "", "2x3xf32 3xf32 3xf32", "the gradient must be a tensor<2x3xf32>, found tensor<3x2xf32>"),
];
