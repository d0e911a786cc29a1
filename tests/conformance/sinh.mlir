// The hyperbolic sine.
func.func @main() -> (tensor<3xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, -1.0e-10]> : tensor<3xf32>
  %1 = "chlo.sinh"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func @expected() -> (tensor<3xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 1.1752012, -1.0e-10]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
