// The inverse of the hyperbolic tangent.
func.func @main() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0.0, 0.5, 1.0, 2.0]> : tensor<4xf32>
  %1 = "chlo.atanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 0.54930615, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
