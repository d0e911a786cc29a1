// One minus the error function, without losing digits.
func.func @main() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, 5.0, -10.0]> : tensor<4xf32>
  %1 = "chlo.erfc"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[1.0, 0.1572992, 1.5374597e-12, 2.0]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
