// Adds updates where indices say; those outside are left out.
func.func @main() -> (tensor<3xi32>) {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[0], [2], [0], [7]]> : tensor<4x1xi64>
  %u = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<3xi32>, tensor<4x1xi64>, tensor<4xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
func.func @expected() -> (tensor<3xi32>) {
  %0 = stablehlo.constant dense<[41, 2, 23]> : tensor<3xi32>
  return %0 : tensor<3xi32>
}
