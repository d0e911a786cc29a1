// The inverse of the hyperbolic cosine.
func.func @main() -> (tensor<3xf32>) {
  %0 = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf32>
  %1 = "chlo.acosh"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func @expected() -> (tensor<3xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 1.316958, 0x7FC00000]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
