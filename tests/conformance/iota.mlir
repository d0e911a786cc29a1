// Counts along a dimension.
func.func @main() -> (tensor<3xi8>, tensor<2x3xf32>, tensor<2xcomplex<f32>>) {
  %0 = stablehlo.iota dim = 0 : tensor<3xi8>
  %1 = stablehlo.iota dim = 1 : tensor<2x3xf32>
  %2 = stablehlo.iota dim = 0 : tensor<2xcomplex<f32>>
  return %0, %1, %2 : tensor<3xi8>, tensor<2x3xf32>, tensor<2xcomplex<f32>>
}
func.func @expected() -> (tensor<3xi8>, tensor<2x3xf32>, tensor<2xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[0, 1, 2]> : tensor<3xi8>
  %1 = stablehlo.constant dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
  %2 = stablehlo.constant dense<[(0.0, 0.0), (1.0, 0.0)]> : tensor<2xcomplex<f32>>
  return %0, %1, %2 : tensor<3xi8>, tensor<2x3xf32>, tensor<2xcomplex<f32>>
}
