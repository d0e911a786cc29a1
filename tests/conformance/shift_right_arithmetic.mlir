// Copies of the sign come in; by the type's width or more only they remain.
func.func @main() -> (tensor<5xi8>) {
  %0 = stablehlo.constant dense<[-1, -36, 8, -5, 5]> : tensor<5xi8>
  %1 = stablehlo.constant dense<[1, 2, 3, 8, 9]> : tensor<5xi8>
  %2 = "stablehlo.shift_right_arithmetic"(%0, %1) : (tensor<5xi8>, tensor<5xi8>) -> tensor<5xi8>
  return %2 : tensor<5xi8>
}
func.func @expected() -> (tensor<5xi8>) {
  %0 = stablehlo.constant dense<[-1, -9, 1, -1, 0]> : tensor<5xi8>
  return %0 : tensor<5xi8>
}
