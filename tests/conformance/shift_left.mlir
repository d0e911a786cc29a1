// By as many bits as the type has, or more, everything is shifted out.
func.func @main() -> (tensor<4xi8>, tensor<1xui8>) {
  %0 = stablehlo.constant dense<[-1, 6, 1, 1]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[1, 3, 8, -1]> : tensor<4xi8>
  %2 = "stablehlo.shift_left"(%0, %1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %3 = stablehlo.constant dense<[255]> : tensor<1xui8>
  %4 = stablehlo.constant dense<[4]> : tensor<1xui8>
  %5 = "stablehlo.shift_left"(%3, %4) : (tensor<1xui8>, tensor<1xui8>) -> tensor<1xui8>
  return %2, %5 : tensor<4xi8>, tensor<1xui8>
}
func.func @expected() -> (tensor<4xi8>, tensor<1xui8>) {
  %0 = stablehlo.constant dense<[-2, 48, 0, 0]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[240]> : tensor<1xui8>
  return %0, %1 : tensor<4xi8>, tensor<1xui8>
}
