func.func public @main(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x3xf32>, %m: tensor<3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<1x3x5x5xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x5x5xf32>
  %1 = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<3xf32>) -> tensor<1x3x5x5xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<1x3x5x5xf32>
  %3 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<3xf32>) -> tensor<1x3x5x5xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<1x3x5x5xf32>
  %5 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<1x3x5x5xf32>
  %6 = stablehlo.add %4, %5 : tensor<1x3x5x5xf32>
  return %6 : tensor<1x3x5x5xf32>
}
