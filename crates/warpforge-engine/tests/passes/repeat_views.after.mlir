module {
  func.func public @main(%arg0: tensor<2x4x6xf32>, %arg1: tensor<2x3x4x2xf32>, %arg2: tensor<6x5xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x2x2xf32>, tensor<2x3x4x2xf32>, tensor<2x4x5xf32>, tensor<5x5xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x4x6xf32>) -> tensor<2x4x3x2xf32>
    %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3] : (tensor<2x4x3x2xf32>) -> tensor<2x3x4x2xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<2x4x6xf32>) -> tensor<2x4x3x2xf32>
    %3 = stablehlo.transpose %2, dims = [0, 2, 1, 3] : (tensor<2x4x3x2xf32>) -> tensor<2x3x4x2xf32>
    %4 = stablehlo.dot_general %3, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
    %5 = stablehlo.reshape %arg0 : (tensor<2x4x6xf32>) -> tensor<2x4x3x2xf32>
    %6 = stablehlo.transpose %5, dims = [0, 2, 1, 3] : (tensor<2x4x3x2xf32>) -> tensor<2x3x4x2xf32>
    %7 = stablehlo.dot_general %6, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x2x2xf32>
    %8 = stablehlo.negate %1 : tensor<2x3x4x2xf32>
    %9 = stablehlo.transpose %arg1, dims = [0, 2, 1, 3] : (tensor<2x3x4x2xf32>) -> tensor<2x4x3x2xf32>
    %10 = stablehlo.reshape %9 : (tensor<2x4x3x2xf32>) -> tensor<2x4x6xf32>
    %11 = stablehlo.dot_general %10, %arg2, contracting_dims = [2] x [0] : (tensor<2x4x6xf32>, tensor<6x5xf32>) -> tensor<2x4x5xf32>
    %12 = stablehlo.dot_general %10, %11, contracting_dims = [0, 1] x [0, 1] : (tensor<2x4x6xf32>, tensor<2x4x5xf32>) -> tensor<6x5xf32>
    %13 = stablehlo.dot_general %12, %arg2, contracting_dims = [0] x [0] : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<5x5xf32>
    return %4, %7, %8, %11, %13 : tensor<2x3x4x4xf32>, tensor<2x3x2x2xf32>, tensor<2x3x4x2xf32>, tensor<2x4x5xf32>, tensor<5x5xf32>
  }
}
