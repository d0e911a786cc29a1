// Start, limit and strides are operands.
func.func @main() -> (tensor<2xi32>) {
  %a = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %s = stablehlo.constant dense<[1]> : tensor<1xi64>
  %l = stablehlo.constant dense<[5]> : tensor<1xi64>
  %d = stablehlo.constant dense<[2]> : tensor<1xi64>
  %0 = stablehlo.real_dynamic_slice %a, %s, %l, %d : (tensor<5xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
func.func @expected() -> (tensor<2xi32>) {
  %0 = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
  return %0 : tensor<2xi32>
}
