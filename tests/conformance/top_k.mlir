// The largest, equal ones in their order, and where they are.
func.func @main() -> (tensor<1x3xf32>, tensor<1x3xi32>) {
  %a = stablehlo.constant dense<[[1.0, 5.0, 3.0, 5.0]]> : tensor<1x4xf32>
  %0, %1 = chlo.top_k(%a, k = 3) : tensor<1x4xf32> -> (tensor<1x3xf32>, tensor<1x3xi32>)
  return %0, %1 : tensor<1x3xf32>, tensor<1x3xi32>
}
func.func @expected() -> (tensor<1x3xf32>, tensor<1x3xi32>) {
  %0 = stablehlo.constant dense<[[5.0, 5.0, 3.0]]> : tensor<1x3xf32>
  %1 = stablehlo.constant dense<[[1, 3, 2]]> : tensor<1x3xi32>
  return %0, %1 : tensor<1x3xf32>, tensor<1x3xi32>
}
