module {
  func.func public @main(%arg0: tensor<2x4xf32>, %arg1: tensor<6x4xf32>, %arg2: tensor<6x4xf32>, %arg3: tensor<6xf32>, %arg4: tensor<6xf32>) -> (tensor<2x3x2xf32>, tensor<2x2x3xf32>) {
    %0 = stablehlo.concatenate %arg1, %arg2, dim = 0 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<12x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<12x4xf32>) -> tensor<2x12xf32>
    %2 = stablehlo.concatenate %arg3, %arg4, dim = 0 : (tensor<6xf32>, tensor<6xf32>) -> tensor<12xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<12xf32>) -> tensor<2x12xf32>
    %4 = stablehlo.add %1, %3 : tensor<2x12xf32>
    %5 = stablehlo.slice %4 [0:2, 0:6] : (tensor<2x12xf32>) -> tensor<2x6xf32>
    %6 = stablehlo.slice %4 [0:2, 6:12] : (tensor<2x12xf32>) -> tensor<2x6xf32>
    %7 = stablehlo.reshape %5 : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
    %8 = stablehlo.reshape %6 : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
    return %7, %8 : tensor<2x3x2xf32>, tensor<2x2x3xf32>
  }
}
