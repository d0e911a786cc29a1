module {
  func.func public @main(%arg0: tensor<1x2x5x5xf32>, %arg1: tensor<3x2x3x3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<3xf32>) -> (tensor<1x3x5x5xf32>) {
    %0 = stablehlo.reshape %arg2 : tensor<3xf32>
    %1 = stablehlo.negate %0 : tensor<3xf32>
    %2 = stablehlo.reshape %arg3 : tensor<3xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<3xf32>
    %4 = stablehlo.reshape %arg4 : tensor<3xf32>
    %5 = stablehlo.add %3, %4 : tensor<3xf32>
    %6 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<3xf32>) -> tensor<3x2x3x3xf32>
    %7 = stablehlo.multiply %arg1, %6 : tensor<3x2x3x3xf32>
    %8 = stablehlo.convolution(%arg0, %7) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x5x5xf32>
    %9 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<3xf32>) -> tensor<1x3x5x5xf32>
    %10 = stablehlo.add %8, %9 : tensor<1x3x5x5xf32>
    return %10 : tensor<1x3x5x5xf32>
  }
}
