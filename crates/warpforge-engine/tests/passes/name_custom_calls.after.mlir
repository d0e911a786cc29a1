module {
  func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %0 = chlo.erf %arg0 : tensor<3x4xf32> -> tensor<3x4xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<3x4xf32>
    return %1 : tensor<3x4xf32>
  }
}
