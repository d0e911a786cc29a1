// Along a dimension, of different sizes.
func.func @main() -> (tensor<2x3xi32>) {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<[[5], [6]]> : tensor<2x1xi32>
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x2xi32>, tensor<2x1xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
func.func @expected() -> (tensor<2x3xi32>) {
  %0 = stablehlo.constant dense<[[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
