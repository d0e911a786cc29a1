// The hyperbolic cosine.
func.func @main() -> (tensor<3xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf32>
  %1 = "chlo.cosh"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func @expected() -> (tensor<3xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[1.0, 1.5430807, 1.5430807]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
