// The tangent.
func.func @main() -> (tensor<2xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %1 = "stablehlo.tan"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
func.func @expected() -> (tensor<2xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 1.5574077]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
