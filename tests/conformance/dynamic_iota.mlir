// The shape is an operand.
func.func @main() -> (tensor<2x2xi32>) {
  %s = stablehlo.constant dense<[2, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi64>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
func.func @expected() -> (tensor<2x2xi32>) {
  %0 = stablehlo.constant dense<[[0, 1], [0, 1]]> : tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}
