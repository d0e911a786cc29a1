func.func @main(%x: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<i32>, %u: tensor<2x3xf32>, %z: tensor<f32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  %1 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %2 = stablehlo.dynamic_slice %x, %s, %s, sizes = [1, 2] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %3 = stablehlo.dynamic_update_slice %x, %2, %s, %s : (tensor<4x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
  %4 = stablehlo.pad %x, %z, low = [1, -1], high = [0, 0], interior = [2, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<11x2xf32>
  %5 = stablehlo.slice %x [0:4:3, 1:2] : (tensor<4x3xf32>) -> tensor<2x1xf32>
  return
}
