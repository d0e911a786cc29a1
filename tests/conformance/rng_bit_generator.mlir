// Threefry: the same state gives the same bits, and its counter moves on.
func.func @main() -> (tensor<2xi1>, tensor<2xi1>) {
  %k = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %0, %1 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  %2, %3 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  %4 = stablehlo.compare EQ, %1, %3, UNSIGNED : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
  %5 = stablehlo.compare NE, %0, %k, UNSIGNED : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xi1>
  return %4, %5 : tensor<2xi1>, tensor<2xi1>
}
func.func @expected() -> (tensor<2xi1>, tensor<2xi1>) {
  %0 = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %1 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  return %0, %1 : tensor<2xi1>, tensor<2xi1>
}
