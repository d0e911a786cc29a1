// Rows by index.
func.func @main() -> (tensor<3x2xi32>) {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<[1, 1, 0]> : tensor<3xi32>
  %0 = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<2x2xi32>, tensor<3xi32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
func.func @expected() -> (tensor<3x2xi32>) {
  %0 = stablehlo.constant dense<[[3, 4], [3, 4], [1, 2]]> : tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
