// Keeps its digits near zero.
func.func @main() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0e-10, -1.0, -2.0, 1.0]> : tensor<5xf32>
  %1 = "stablehlo.log_plus_one"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
func.func @expected() -> (tensor<5xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 1.0e-10, 0xFF800000, 0x7FC00000, 0.6931472]> : tensor<5xf32>
  return %0 : tensor<5xf32>
}
