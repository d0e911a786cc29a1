// The error function.
func.func @main() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, -1.0, 10.0]> : tensor<4xf32>
  %1 = "chlo.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 0.8427008, -0.8427008, 1.0]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
