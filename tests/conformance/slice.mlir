// From, to and every how many.
func.func @main() -> (tensor<1x2xi32>) {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.slice %a [1:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
  return %0 : tensor<1x2xi32>
}
func.func @expected() -> (tensor<1x2xi32>) {
  %0 = stablehlo.constant dense<[[4, 6]]> : tensor<1x2xi32>
  return %0 : tensor<1x2xi32>
}
