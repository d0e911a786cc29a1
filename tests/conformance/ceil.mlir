// Rounds up; what rounds up to zero from below is negative zero.
func.func @main() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[0.2, -0.2, 1.0, -1.5, 0x7F800000]> : tensor<5xf32>
  %1 = "stablehlo.ceil"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
func.func @expected() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[1.0, -0.0, 1.0, -1.0, 0x7F800000]> : tensor<5xf32>
  return %0 : tensor<5xf32>
}
