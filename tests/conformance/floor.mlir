// Rounds down; negative zero stays.
func.func @main() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0.7, -0.2, -0.0, 2.0]> : tensor<4xf32>
  %1 = "stablehlo.floor"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0.0, -1.0, -0.0, 2.0]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
