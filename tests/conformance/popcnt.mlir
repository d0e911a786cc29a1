// The bits that are set.
func.func @main() -> (tensor<4xi8>, tensor<2xui32>) {
  %0 = stablehlo.constant dense<[0, 1, -1, 127]> : tensor<4xi8>
  %1 = "stablehlo.popcnt"(%0) : (tensor<4xi8>) -> tensor<4xi8>
  %2 = stablehlo.constant dense<[65535, 4097]> : tensor<2xui32>
  %3 = "stablehlo.popcnt"(%2) : (tensor<2xui32>) -> tensor<2xui32>
  return %1, %3 : tensor<4xi8>, tensor<2xui32>
}
func.func @expected() -> (tensor<4xi8>, tensor<2xui32>) {
  %0 = stablehlo.constant dense<[0, 1, 8, 7]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[16, 2]> : tensor<2xui32>
  return %0, %1 : tensor<4xi8>, tensor<2xui32>
}
