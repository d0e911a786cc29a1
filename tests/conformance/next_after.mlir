// The next number of the type in a direction.
func.func @main() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[1.0, 0.0, 1.0, 2.0]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[2.0, -1.0, 1.0, 0x7FC00000]> : tensor<4xf32>
  %2 = "chlo.next_after"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[1.00000012, -1.4e-45, 1.0, 0x7FC00000]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
