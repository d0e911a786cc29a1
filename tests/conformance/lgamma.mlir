// The logarithm of the size of gamma.
func.func @main() -> (tensor<6xf32>) {
  %0 = stablehlo.constant dense<[1.0, 2.0, 5.0, 0.5, 0.0, -0.5]> : tensor<6xf32>
  %1 = "chlo.lgamma"(%0) : (tensor<6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}
func.func @expected() -> (tensor<6xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 0.0, 3.1780539, 0.5723649, 0x7F800000, 1.2655121]> : tensor<6xf32>
  return %0 : tensor<6xf32>
}
