// The sizes of the slices are an operand.
func.func @main() -> (tensor<2xi32>) {
  %x = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi64>
  %s = stablehlo.constant dense<[1]> : tensor<1xi64>
  %0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<4xi32>, tensor<2x1xi64>, tensor<1xi64>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
func.func @expected() -> (tensor<2xi32>) {
  %0 = stablehlo.constant dense<[30, 10]> : tensor<2xi32>
  return %0 : tensor<2xi32>
}
