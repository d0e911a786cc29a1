// Of booleans and of bits.
func.func @main() -> (tensor<3xi1>, tensor<2xi32>) {
  %0 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %1 = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %2 = "stablehlo.xor"(%0, %1) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  %3 = stablehlo.constant dense<[12, -1]> : tensor<2xi32>
  %4 = stablehlo.constant dense<[10, 7]> : tensor<2xi32>
  %5 = "stablehlo.xor"(%3, %4) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return %2, %5 : tensor<3xi1>, tensor<2xi32>
}
func.func @expected() -> (tensor<3xi1>, tensor<2xi32>) {
  %0 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
  %1 = stablehlo.constant dense<[6, -8]> : tensor<2xi32>
  return %0, %1 : tensor<3xi1>, tensor<2xi32>
}
