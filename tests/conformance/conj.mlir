// The complex conjugate.
func.func @main() -> (tensor<2xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[(1.0, 2.0), (3.0, -0.0)]> : tensor<2xcomplex<f32>>
  %1 = "chlo.conj"(%0) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return %1 : tensor<2xcomplex<f32>>
}
func.func @expected() -> (tensor<2xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[(1.0, -2.0), (3.0, 0.0)]> : tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}
