// Into a place that is moved until the update fits.
func.func @main() -> (tensor<4xi32>, tensor<4xi32>) {
  %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %i = stablehlo.constant dense<1> : tensor<i64>
  %j = stablehlo.constant dense<9> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<4xi32>, tensor<2xi32>, tensor<i64>) -> tensor<4xi32>
  %1 = stablehlo.dynamic_update_slice %a, %u, %j : (tensor<4xi32>, tensor<2xi32>, tensor<i64>) -> tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}
func.func @expected() -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.constant dense<[1, 8, 9, 4]> : tensor<4xi32>
  %1 = stablehlo.constant dense<[1, 2, 8, 9]> : tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}
