// The hyperbolic tangent.
func.func @main() -> (tensor<4xf32>, tensor<1xf16>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, -20.0, 0x7F800000]> : tensor<4xf32>
  %1 = "stablehlo.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.constant dense<[0.5]> : tensor<1xf16>
  %3 = "stablehlo.tanh"(%2) : (tensor<1xf16>) -> tensor<1xf16>
  return %1, %3 : tensor<4xf32>, tensor<1xf16>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}, tensor<1xf16>) {
  %0 = stablehlo.constant dense<[0.0, 0.7615942, -1.0, 1.0]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[0.4621]> : tensor<1xf16>
  return %0, %1 : tensor<4xf32>, tensor<1xf16>
}
