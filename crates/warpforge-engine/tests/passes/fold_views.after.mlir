module {
  func.func public @main(%arg0: tensor<2x3x4xf32>) -> (tensor<4x3x2xf32>, tensor<24xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [2, 1, 0] : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<24xf32>
    return %0, %1 : tensor<4x3x2xf32>, tensor<24xf32>
  }
}
