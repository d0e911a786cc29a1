func.func @main(%q: tensor<2x3x4x5xf32>, %k: tensor<2x4x3x5xf32>, %v: tensor<6x4x5xf32>, %o: tensor<6x2x4xf32>) -> (tensor<2x4x3x5xf32>, tensor<6x2x5xf32>) {
  // Attention as it is exported: rows and heads become one dimension for each product.
  %0 = stablehlo.reshape %q : (tensor<2x3x4x5xf32>) -> tensor<6x4x5xf32>
  %1 = stablehlo.transpose %k, dims = [0, 2, 1, 3] : (tensor<2x4x3x5xf32>) -> tensor<2x3x4x5xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x3x4x5xf32>) -> tensor<6x4x5xf32>
  %3 = stablehlo.transpose %2, dims = [0, 2, 1] : (tensor<6x4x5xf32>) -> tensor<6x5x4xf32>
  %4 = stablehlo.dot_general %0, %3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x4x5xf32>, tensor<6x5x4xf32>) -> tensor<6x4x4xf32>
  %5 = stablehlo.dot_general %4, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x4x4xf32>, tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  %6 = stablehlo.reshape %5 : (tensor<6x4x5xf32>) -> tensor<2x3x4x5xf32>
  %7 = stablehlo.transpose %6, dims = [0, 2, 1, 3] : (tensor<2x3x4x5xf32>) -> tensor<2x4x3x5xf32>
  // A batch that was never two dimensions.
  %8 = stablehlo.dot_general %o, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x2x4xf32>, tensor<6x4x5xf32>) -> tensor<6x2x5xf32>
  return %7, %8 : tensor<2x4x3x5xf32>, tensor<6x2x5xf32>
}
