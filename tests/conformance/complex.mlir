// Complex numbers of two real ones.
func.func @main() -> (tensor<2xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[1.0, -0.0]> : tensor<2xf32>
  %1 = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %2 = "stablehlo.complex"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
  return %2 : tensor<2xcomplex<f32>>
}
func.func @expected() -> (tensor<2xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[(1.0, 2.0), (-0.0, 3.0)]> : tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}
