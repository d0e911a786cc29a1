// The cube root, of negative numbers too.
func.func @main() -> (tensor<4xf32>, tensor<1xf64>) {
  %0 = stablehlo.constant dense<[8.0, -27.0, 0.0, 1.0e-3]> : tensor<4xf32>
  %1 = "stablehlo.cbrt"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.constant dense<[2.0]> : tensor<1xf64>
  %3 = "stablehlo.cbrt"(%2) : (tensor<1xf64>) -> tensor<1xf64>
  return %1, %3 : tensor<4xf32>, tensor<1xf64>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}, tensor<1xf64> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[2.0, -3.0, 0.0, 0.1]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[1.2599210498948732]> : tensor<1xf64>
  return %0, %1 : tensor<4xf32>, tensor<1xf64>
}
