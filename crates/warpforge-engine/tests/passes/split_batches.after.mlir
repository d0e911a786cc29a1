module {
  func.func public @main(%arg0: tensor<2x3x4x5xf32>, %arg1: tensor<2x4x3x5xf32>, %arg2: tensor<6x4x5xf32>, %arg3: tensor<6x2x4xf32>) -> (tensor<2x4x3x5xf32>, tensor<6x2x5xf32>) {
    %0 = stablehlo.transpose %arg1, dims = [0, 2, 1, 3] : (tensor<2x4x3x5xf32>) -> tensor<2x3x4x5xf32>
    %1 = stablehlo.transpose %0, dims = [0, 1, 3, 2] : (tensor<2x3x4x5xf32>) -> tensor<2x3x5x4xf32>
    %2 = stablehlo.dot_general %arg0, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x4x5xf32>, tensor<2x3x5x4xf32>) -> tensor<2x3x4x4xf32>
    %3 = stablehlo.reshape %arg2 : (tensor<6x4x5xf32>) -> tensor<2x3x4x5xf32>
    %4 = stablehlo.dot_general %2, %3, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x4x4xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
    %5 = stablehlo.transpose %4, dims = [0, 2, 1, 3] : (tensor<2x3x4x5xf32>) -> tensor<2x4x3x5xf32>
    %6 = stablehlo.dot_general %arg3, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x2x4xf32>, tensor<6x4x5xf32>) -> tensor<6x2x5xf32>
    return %5, %6 : tensor<2x4x3x5xf32>, tensor<6x2x5xf32>
  }
}
