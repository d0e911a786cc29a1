// 1 / (1 + exp(-x)).
func.func @main() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0.0, 0x7F800000, 0xFF800000, 1.0]> : tensor<4xf32>
  %1 = "stablehlo.logistic"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.5, 1.0, 0.0, 0.7310586]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
