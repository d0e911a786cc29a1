// A number times itself, of every kind.
func.func @main() -> (tensor<2xi8>, tensor<1xf32>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[-3, 16]> : tensor<2xi8>
  %1 = "chlo.square"(%0) : (tensor<2xi8>) -> tensor<2xi8>
  %2 = stablehlo.constant dense<[-1.5]> : tensor<1xf32>
  %3 = "chlo.square"(%2) : (tensor<1xf32>) -> tensor<1xf32>
  %4 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %5 = "chlo.square"(%4) : (tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  return %1, %3, %5 : tensor<2xi8>, tensor<1xf32>, tensor<1xcomplex<f32>>
}
func.func @expected() -> (tensor<2xi8>, tensor<1xf32>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[9, 0]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[2.25]> : tensor<1xf32>
  %2 = stablehlo.constant dense<[(-3.0, 4.0)]> : tensor<1xcomplex<f32>>
  return %0, %1, %2 : tensor<2xi8>, tensor<1xf32>, tensor<1xcomplex<f32>>
}
