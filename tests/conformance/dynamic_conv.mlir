// The padding is an operand.
func.func @main() -> (tensor<1x3x1xf32>) {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<[[[1.0]], [[10.0]]]> : tensor<2x1x1xf32>
  %p = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi64>
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>}> : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi64>) -> tensor<1x3x1xf32>
  return %0 : tensor<1x3x1xf32>
}
func.func @expected() -> (tensor<1x3x1xf32>) {
  %0 = stablehlo.constant dense<[[[10.0], [21.0], [32.0]]]> : tensor<1x3x1xf32>
  return %0 : tensor<1x3x1xf32>
}
