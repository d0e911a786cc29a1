module {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
    %0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %2 = stablehlo.constant dense<7.0710677e-01> : tensor<3x4xf32>
    %3 = stablehlo.multiply %1, %arg0 : tensor<3x4xf32>
    %4 = stablehlo.negate %arg0 : tensor<3x4xf32>
    %5 = stablehlo.multiply %4, %2 : tensor<3x4xf32>
    %6 = chlo.erf %5 : tensor<3x4xf32> -> tensor<3x4xf32>
    %7 = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf32>
    %8 = stablehlo.subtract %7, %6 : tensor<3x4xf32>
    %9 = stablehlo.multiply %3, %8 : tensor<3x4xf32>
    %10 = stablehlo.multiply %arg1, %8 : tensor<3x4xf32>
    %11 = stablehlo.multiply %1, %arg1 : tensor<3x4xf32>
    %12 = stablehlo.negate %arg1 : tensor<3x4xf32>
    %13 = stablehlo.multiply %12, %2 : tensor<3x4xf32>
    %14 = chlo.erfc %13 : tensor<3x4xf32> -> tensor<3x4xf32>
    %15 = stablehlo.multiply %11, %14 : tensor<3x4xf32>
    %16 = chlo.erfc %arg0 : tensor<3x4xf32> -> tensor<3x4xf32>
    %17 = stablehlo.multiply %16, %3 : tensor<3x4xf32>
    %18 = stablehlo.add %17, %16 : tensor<3x4xf32>
    %19 = stablehlo.add %15, %18 : tensor<3x4xf32>
    return %9, %10, %19 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
  }
}
