// Zeros above the highest bit, counted in the width of the type.
func.func @main() -> (tensor<4xi8>, tensor<3xui16>, tensor<1xi64>) {
  %0 = stablehlo.constant dense<[0, 1, 127, -1]> : tensor<4xi8>
  %1 = "stablehlo.count_leading_zeros"(%0) : (tensor<4xi8>) -> tensor<4xi8>
  %2 = stablehlo.constant dense<[0, 1, 65535]> : tensor<3xui16>
  %3 = "stablehlo.count_leading_zeros"(%2) : (tensor<3xui16>) -> tensor<3xui16>
  %4 = stablehlo.constant dense<[1]> : tensor<1xi64>
  %5 = "stablehlo.count_leading_zeros"(%4) : (tensor<1xi64>) -> tensor<1xi64>
  return %1, %3, %5 : tensor<4xi8>, tensor<3xui16>, tensor<1xi64>
}
func.func @expected() -> (tensor<4xi8>, tensor<3xui16>, tensor<1xi64>) {
  %0 = stablehlo.constant dense<[8, 7, 1, 0]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[16, 15, 0]> : tensor<3xui16>
  %2 = stablehlo.constant dense<[63]> : tensor<1xi64>
  return %0, %1, %2 : tensor<4xi8>, tensor<3xui16>, tensor<1xi64>
}
