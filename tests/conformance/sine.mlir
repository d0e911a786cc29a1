// The sine; of infinity it is no number.
func.func @main() -> (tensor<4xf32>, tensor<1xf32>) {
  %0 = stablehlo.constant dense<[0.0, -0.0, 1.0, 0x7F800000]> : tensor<4xf32>
  %1 = "stablehlo.sine"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.constant dense<[1.0e10]> : tensor<1xf32>
  %3 = "stablehlo.sine"(%2) : (tensor<1xf32>) -> tensor<1xf32>
  return %1, %3 : tensor<4xf32>, tensor<1xf32>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}, tensor<1xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, -0.0, 0.84147096, 0x7FC00000]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[-0.48750603]> : tensor<1xf32>
  return %0, %1 : tensor<4xf32>, tensor<1xf32>
}
