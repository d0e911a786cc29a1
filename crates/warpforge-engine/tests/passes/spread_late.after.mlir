module {
  func.func public @main(%arg0: tensor<1x40xi32>, %arg1: tensor<40x40xf32>, %arg2: tensor<4xf32>) -> (tensor<40x40xf32>, tensor<4x3xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<1x40xi32>
    %1 = stablehlo.compare GT, %arg0, %0 : (tensor<1x40xi32>, tensor<1x40xi32>) -> tensor<1x40xi1>
    %2 = stablehlo.not %1 : tensor<1x40xi1>
    %3 = stablehlo.constant dense<-9.000000e+00> : tensor<1x40xf32>
    %4 = stablehlo.constant dense<0.000000e+00> : tensor<1x40xf32>
    %5 = stablehlo.select %2, %3, %4 : (tensor<1x40xi1>, tensor<1x40xf32>, tensor<1x40xf32>) -> tensor<1x40xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x40xf32>) -> tensor<40x40xf32>
    %7 = stablehlo.add %arg1, %6 : tensor<40x40xf32>
    %8 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
    %9 = stablehlo.tanh %8 : tensor<4x3xf32>
    return %7, %9 : tensor<40x40xf32>, tensor<4x3xf32>
  }
}
