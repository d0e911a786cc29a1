// The real part; a real number is its own.
func.func @main() -> (tensor<2xf32>, tensor<1xf32>) {
  %0 = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %1 = "stablehlo.real"(%0) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %2 = stablehlo.constant dense<[1.5]> : tensor<1xf32>
  %3 = "stablehlo.real"(%2) : (tensor<1xf32>) -> tensor<1xf32>
  return %1, %3 : tensor<2xf32>, tensor<1xf32>
}
func.func @expected() -> (tensor<2xf32>, tensor<1xf32>) {
  %0 = stablehlo.constant dense<[1.0, -3.0]> : tensor<2xf32>
  %1 = stablehlo.constant dense<[1.5]> : tensor<1xf32>
  return %0, %1 : tensor<2xf32>, tensor<1xf32>
}
