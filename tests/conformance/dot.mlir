// A product of matrices, of a matrix and a vector, and of vectors.
func.func @main() -> (tensor<2x2xf32>, tensor<2xf32>, tensor<f32>) {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = stablehlo.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %0 = stablehlo.dot %a, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.dot %a, %v : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.dot %v, %v : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %0, %1, %2 : tensor<2x2xf32>, tensor<2xf32>, tensor<f32>
}
func.func @expected() -> (tensor<2x2xf32>, tensor<2xf32>, tensor<f32>) {
  %0 = stablehlo.constant dense<[[7.0, 10.0], [15.0, 22.0]]> : tensor<2x2xf32>
  %1 = stablehlo.constant dense<[17.0, 39.0]> : tensor<2xf32>
  %2 = stablehlo.constant dense<61.0> : tensor<f32>
  return %0, %1, %2 : tensor<2x2xf32>, tensor<2xf32>, tensor<f32>
}
