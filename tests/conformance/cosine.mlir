// The cosine; of infinity it is no number.
func.func @main() -> (tensor<4xf32>, tensor<1xcomplex<f64>>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, 3.1415927, 0x7F800000]> : tensor<4xf32>
  %1 = "stablehlo.cosine"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.constant dense<[(0.0, 1.0)]> : tensor<1xcomplex<f64>>
  %3 = "stablehlo.cosine"(%2) : (tensor<1xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  return %1, %3 : tensor<4xf32>, tensor<1xcomplex<f64>>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}, tensor<1xcomplex<f64>> {check.ulps = 2 : i64}) {
  %0 = stablehlo.constant dense<[1.0, 0.5403023, -1.0, 0x7FC00000]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[(1.5430806348152437, -0.0)]> : tensor<1xcomplex<f64>>
  return %0, %1 : tensor<4xf32>, tensor<1xcomplex<f64>>
}
