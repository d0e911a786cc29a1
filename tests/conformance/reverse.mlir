// Back to front along a dimension.
func.func @main() -> (tensor<2x3xi32>) {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.reverse %a, dims = [1] : tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
func.func @expected() -> (tensor<2x3xi32>) {
  %0 = stablehlo.constant dense<[[3, 2, 1], [6, 5, 4]]> : tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
