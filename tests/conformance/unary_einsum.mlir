// A sum of rows by letters.
func.func @main() -> (tensor<2xf32>) {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ij->i"}> : (tensor<2x2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @expected() -> (tensor<2xf32>) {
  %0 = stablehlo.constant dense<[3.0, 7.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
