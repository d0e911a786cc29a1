// With the matrix on the left and, transposed, on the right.
func.func @main() -> (tensor<2x1xf32>, tensor<1x2xf32>) {
  %a = stablehlo.constant dense<[[2.0, 0.0], [1.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[2.0], [9.0]]> : tensor<2x1xf32>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %c = stablehlo.constant dense<[[2.0, 9.0]]> : tensor<1x2xf32>
  %1 = "stablehlo.triangular_solve"(%a, %c) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  return %0, %1 : tensor<2x1xf32>, tensor<1x2xf32>
}
func.func @expected() -> (tensor<2x1xf32>, tensor<1x2xf32>) {
  %0 = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %1 = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  return %0, %1 : tensor<2x1xf32>, tensor<1x2xf32>
}
