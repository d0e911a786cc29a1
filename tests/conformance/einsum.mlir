// A product of matrices by letters.
func.func @main() -> (tensor<2x2xf32>) {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = "stablehlo.einsum"(%a, %a) <{einsum_config = "ij,jk->ik"}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func @expected() -> (tensor<2x2xf32>) {
  %0 = stablehlo.constant dense<[[7.0, 10.0], [15.0, 22.0]]> : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
