// The padding is an operand.
func.func @main() -> (tensor<4xi32>) {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<9> : tensor<i32>
  %l = stablehlo.constant dense<[1]> : tensor<1xi64>
  %h = stablehlo.constant dense<[0]> : tensor<1xi64>
  %i = stablehlo.constant dense<[1]> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %a, %z, %l, %h, %i : (tensor<2xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func @expected() -> (tensor<4xi32>) {
  %0 = stablehlo.constant dense<[9, 1, 9, 2]> : tensor<4xi32>
  return %0 : tensor<4xi32>
}
