// The size of integers, floats and complex numbers; the smallest integer has none.
func.func @main() -> (tensor<4xi8>, tensor<4xf32>, tensor<2xf32>) {
  %0 = stablehlo.constant dense<[-2, 0, 3, -128]> : tensor<4xi8>
  %1 = "stablehlo.abs"(%0) : (tensor<4xi8>) -> tensor<4xi8>
  %2 = stablehlo.constant dense<[-1.5, -0.0, 2.0, 0xFF800000]> : tensor<4xf32>
  %3 = "stablehlo.abs"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = stablehlo.constant dense<[(3.0, -4.0), (0.0, 0.0)]> : tensor<2xcomplex<f32>>
  %5 = "stablehlo.abs"(%4) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %1, %3, %5 : tensor<4xi8>, tensor<4xf32>, tensor<2xf32>
}
func.func @expected() -> (tensor<4xi8>, tensor<4xf32>, tensor<2xf32>) {
  %0 = stablehlo.constant dense<[2, 0, 3, -128]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[1.5, 0.0, 2.0, 0x7F800000]> : tensor<4xf32>
  %2 = stablehlo.constant dense<[5.0, 0.0]> : tensor<2xf32>
  return %0, %1, %2 : tensor<4xi8>, tensor<4xf32>, tensor<2xf32>
}
