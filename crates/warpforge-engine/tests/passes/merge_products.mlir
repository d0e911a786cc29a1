func.func public @main(%x: tensor<2x4xf32>, %q: tensor<6x4xf32>, %k: tensor<6x4xf32>, %b: tensor<6xf32>, %c: tensor<6xf32>) -> (tensor<2x3x2xf32>, tensor<2x2x3xf32>) {
  %0 = stablehlo.dot_general %x, %q, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<6xf32>) -> tensor<2x6xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x6xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x6xf32>) -> tensor<2x3x2xf32>
  %4 = stablehlo.dot_general %x, %k, contracting_dims = [1] x [1] : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
  %5 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<6xf32>) -> tensor<2x6xf32>
  %6 = stablehlo.add %4, %5 : tensor<2x6xf32>
  %7 = stablehlo.reshape %6 : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
  return %3, %7 : tensor<2x3x2xf32>, tensor<2x2x3xf32>
}
