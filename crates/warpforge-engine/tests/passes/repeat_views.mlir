func.func @main(%x: tensor<2x4x6xf32>, %y: tensor<2x3x4x2xf32>, %w: tensor<6x5xf32>) -> (tensor<2x3x4x4xf32>, tensor<2x3x2x2xf32>, tensor<2x3x4x2xf32>, tensor<2x4x5xf32>, tensor<5x5xf32>) {
  // Two products and something else read the heads.
  %0 = stablehlo.reshape %x : (tensor<2x4x6xf32>) -> tensor<2x4x3x2xf32>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3] : (tensor<2x4x3x2xf32>) -> tensor<2x3x4x2xf32>
  %2 = stablehlo.dot_general %1, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x4x4xf32>
  %3 = stablehlo.dot_general %1, %y, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x3x4x2xf32>, tensor<2x3x4x2xf32>) -> tensor<2x3x2x2xf32>
  %4 = stablehlo.negate %1 : tensor<2x3x4x2xf32>
  // No product can read heads as columns: they are put in order once.
  %5 = stablehlo.transpose %y, dims = [0, 2, 1, 3] : (tensor<2x3x4x2xf32>) -> tensor<2x4x3x2xf32>
  %6 = stablehlo.reshape %5 : (tensor<2x4x3x2xf32>) -> tensor<2x4x6xf32>
  %7 = stablehlo.dot_general %6, %w, contracting_dims = [2] x [0] : (tensor<2x4x6xf32>, tensor<6x5xf32>) -> tensor<2x4x5xf32>
  %8 = stablehlo.dot_general %6, %7, contracting_dims = [0, 1] x [0, 1] : (tensor<2x4x6xf32>, tensor<2x4x5xf32>) -> tensor<6x5xf32>
  %9 = stablehlo.dot_general %8, %w, contracting_dims = [0] x [0] : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<5x5xf32>
  return %2, %3, %4, %7, %9 : tensor<2x3x4x4xf32>, tensor<2x3x2x2xf32>, tensor<2x3x4x2xf32>, tensor<2x4x5xf32>, tensor<5x5xf32>
}
