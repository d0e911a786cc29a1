// The square root.
func.func @main() -> (tensor<4xf32>, tensor<1xcomplex<f64>>) {
  %0 = stablehlo.constant dense<[4.0, 2.0, -0.0, -1.0]> : tensor<4xf32>
  %1 = "stablehlo.sqrt"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.constant dense<[(-4.0, 0.0)]> : tensor<1xcomplex<f64>>
  %3 = "stablehlo.sqrt"(%2) : (tensor<1xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  return %1, %3 : tensor<4xf32>, tensor<1xcomplex<f64>>
}
func.func @expected() -> (tensor<4xf32>, tensor<1xcomplex<f64>> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[2.0, 1.4142135, -0.0, 0x7FC00000]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[(0.0, 2.0)]> : tensor<1xcomplex<f64>>
  return %0, %1 : tensor<4xf32>, tensor<1xcomplex<f64>>
}
