// Neither infinite nor NaN.
func.func @main() -> (tensor<4xi1>) {
  %0 = stablehlo.constant dense<[1.0, 0x7F800000, 0x7FC00000, 0.0]> : tensor<4xf32>
  %1 = "stablehlo.is_finite"(%0) : (tensor<4xf32>) -> tensor<4xi1>
  return %1 : tensor<4xi1>
}
func.func @expected() -> (tensor<4xi1>) {
  %0 = stablehlo.constant dense<[true, false, false, true]> : tensor<4xi1>
  return %0 : tensor<4xi1>
}
