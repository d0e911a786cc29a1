// Zeros come in; by the type's width or more only they remain.
func.func @main() -> (tensor<4xi8>) {
  %0 = stablehlo.constant dense<[-1, -36, 36, -1]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[1, 2, 3, 8]> : tensor<4xi8>
  %2 = "stablehlo.shift_right_logical"(%0, %1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %2 : tensor<4xi8>
}
func.func @expected() -> (tensor<4xi8>) {
  %0 = stablehlo.constant dense<[127, 55, 4, 0]> : tensor<4xi8>
  return %0 : tensor<4xi8>
}
