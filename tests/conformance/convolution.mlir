// A window of 2 by 2 with padding, strides, dilation, and groups of features.
func.func @main() -> (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2xf32>) {
  %x = stablehlo.constant dense<[[[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]], [[7.0], [8.0], [9.0]]]]> : tensor<1x3x3x1xf32>
  %k = stablehlo.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x2x1xf32>
  %y = stablehlo.constant dense<[[[1.0, 10.0], [2.0, 20.0]]]> : tensor<1x2x2xf32>
  %g = stablehlo.constant dense<[[[3.0, 5.0]]]> : tensor<1x1x2xf32>
  %2 = stablehlo.convolution(%y, %g) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x2xf32>, tensor<1x1x2xf32>) -> tensor<1x2x2xf32>
  return %0, %1, %2 : tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
}
func.func @expected() -> (tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2xf32>) {
  %0 = stablehlo.constant dense<[[[[37.0], [47.0]], [[67.0], [77.0]]]]> : tensor<1x2x2x1xf32>
  %1 = stablehlo.constant dense<[[[[5.0], [10.0]], [[15.0], [20.0]]]]> : tensor<1x2x2x1xf32>
  %2 = stablehlo.constant dense<[[[3.0, 50.0], [6.0, 100.0]]]> : tensor<1x2x2xf32>
  return %0, %1, %2 : tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
}
