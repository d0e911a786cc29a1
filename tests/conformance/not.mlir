// Of booleans the opposite, of integers every bit.
func.func @main() -> (tensor<2xi1>, tensor<3xi32>, tensor<2xui8>) {
  %0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %1 = "stablehlo.not"(%0) : (tensor<2xi1>) -> tensor<2xi1>
  %2 = stablehlo.constant dense<[0, -1, 5]> : tensor<3xi32>
  %3 = "stablehlo.not"(%2) : (tensor<3xi32>) -> tensor<3xi32>
  %4 = stablehlo.constant dense<[0, 1]> : tensor<2xui8>
  %5 = "stablehlo.not"(%4) : (tensor<2xui8>) -> tensor<2xui8>
  return %1, %3, %5 : tensor<2xi1>, tensor<3xi32>, tensor<2xui8>
}
func.func @expected() -> (tensor<2xi1>, tensor<3xi32>, tensor<2xui8>) {
  %0 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %1 = stablehlo.constant dense<[-1, 0, -6]> : tensor<3xi32>
  %2 = stablehlo.constant dense<[255, 254]> : tensor<2xui8>
  return %0, %1, %2 : tensor<2xi1>, tensor<3xi32>, tensor<2xui8>
}
