// To the nearest whole number, from the middle away from zero.
func.func @main() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[-2.5, 0.4, 0.5, 1.5, -0.4]> : tensor<5xf32>
  %1 = "stablehlo.round_nearest_afz"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
func.func @expected() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[-3.0, 0.0, 1.0, 2.0, -0.0]> : tensor<5xf32>
  return %0 : tensor<5xf32>
}
