// Rows by index; an index too large is moved back until its slice fits.
func.func @main() -> (tensor<3x2xi32>, tensor<2x2xi32>) {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[[2], [0], [9]]> : tensor<3x1xi64>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xi32>, tensor<3x1xi64>) -> tensor<3x2xi32>
  %b = stablehlo.constant dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
  %y = stablehlo.constant dense<[[10, 11], [20, 21]]> : tensor<2x2xi32>
  %1 = "stablehlo.gather"(%y, %b) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<2x2xi32>, tensor<2x2xi64>) -> tensor<2x2xi32>
  return %0, %1 : tensor<3x2xi32>, tensor<2x2xi32>
}
func.func @expected() -> (tensor<3x2xi32>, tensor<2x2xi32>) {
  %0 = stablehlo.constant dense<[[5, 6], [1, 2], [5, 6]]> : tensor<3x2xi32>
  %1 = stablehlo.constant dense<[[10, 11], [21, 20]]> : tensor<2x2xi32>
  return %0, %1 : tensor<3x2xi32>, tensor<2x2xi32>
}
