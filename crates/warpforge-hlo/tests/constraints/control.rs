//! Branches, loops, calls, tuples, tokens.

use super::Case;

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    ("if", "i", "", "{N}|{N}", "", "the branch must be chosen by a scalar of i1, found tensor<i32>"),
    ("case", "p", "", "{N}", "", "the branch must be chosen by a scalar of i32, found tensor<i1>"),
    ("if", "p", "", "{N}", "", "expected 2 branches, found 1"),
    ("case", "i", "", "", "", "expected at least 1 branches, found 0"),
    ("if", "p", "", "{N}|{A}", "", "branches take no arguments"),
    ("if", "p", "", "{N}|stablehlo.return %f : tensor<2x3xf32>", "", "a branch returns: expected 0 values, found 1"),
    ("if", "p", "", "stablehlo.return %f : tensor<2x3xf32>|stablehlo.return %g : tensor<3x2xf32>", "2x3xf32", "a branch returns: value 1 must be a tensor<2x3xf32>, found tensor<3x2xf32>"),
    ("if", "p", "", "stablehlo.return %f : tensor<2x3xf32>|stablehlo.return %f : tensor<2x3xf32>", "3x2xf32", "the result must be a tensor<2x3xf32>"),
    ("while", "i", "", "{N}", "i32", "expected 2 regions, found 1"),
    ("while", "i", "", "{N}|{N}", "i32", "the condition takes: expected 1 value, found 0"),
    ("while", "i", "", "^r(%ra: tensor<i32>): stablehlo.return %p : tensor<i1>|{N}", "i32", "the body takes: expected 1 value, found 0"),
    ("while", "i", "", "^r(%ra: tensor<i32>): stablehlo.return %ra : tensor<i32>|^r(%ra: tensor<i32>): stablehlo.return %ra : tensor<i32>", "i32", "the condition must return a scalar of i1"),
    ("while", "i", "", "^r(%ra: tensor<i32>): stablehlo.return %p : tensor<i1>|^r(%ra: tensor<i32>): stablehlo.return %s : tensor<f32>", "i32", "the body returns: value 1 must be a tensor<i32>, found tensor<f32>"),
    ("while", "i", "", "^r(%ra: tensor<i32>): stablehlo.return %p : tensor<i1>|^r(%ra: tensor<i32>): stablehlo.return %ra : tensor<i32>", "i64", "the result must be a tensor<i32>, found tensor<i64>"),
    ("func.call", "f", "callee = @nobody", "", "", "there is no function @nobody"),
    ("func.call", "f", "callee = @main", "", "", "@main takes: expected 21 values, found 1"),
    ("custom_call", "f", "call_target_name = \"x\", called_computations = [@nobody]", "", "f32", "there is no function @nobody"),
    ("tuple", "f i", "", "", "2x3xf32", "the result must be a tuple<tensor<2x3xf32>, tensor<i32>>, found tensor<2x3xf32>"),
    ("get_tuple_element", "pair", "index = 2", "", "f32", "the tuple has 2 elements, there is no 2"),
    ("get_tuple_element", "pair", "index = 1", "", "f32", "the result must be a tensor<i32>, found tensor<f32>"),
    ("get_tuple_element", "f", "index = 0", "", "f32", "the operand must be a tuple"),
    ("optimization_barrier", "f i", "", "", "2x3xf32 i64", "the result must be a tensor<i32>, found tensor<i64>"),
    ("after_all", "f", "", "", "!stablehlo.token", "operands must be tokens"),
    ("after_all", "token", "", "", "f32", "the result must be a !stablehlo.token, found tensor<f32>"),
    ("infeed", "f", "", "", "f32 !stablehlo.token", "the last operand and the last result must be tokens"),
    ("infeed", "f token", "", "", "f32 !stablehlo.token", "operands must have 1 entry, found 2"),
    ("outfeed", "pair token", "", "", "!stablehlo.token", "only tensors can be transferred, found tuple<"),
    ("outfeed", "f token", "", "", "f32 !stablehlo.token", "expected 1 result, found 2"),
    ("send", "f token", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true", "", "!stablehlo.token", "the type of the channel must be 2 with is_host_transfer, found 3"),
    ("send", "f token", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>", "", "!stablehlo.token", "the type of the channel must be 1 without is_host_transfer, found 2"),
    ("recv", "token", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true", "", "f32 !stablehlo.token", "the type of the channel must be 3 with is_host_transfer, found 2"),
    ("recv", "token", "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>", "", "f32 !stablehlo.token", "source_target_pairs must name each source and each target once"),
];
