// The natural logarithm, with its edges.
func.func @main() -> (tensor<4xf32>, tensor<1xcomplex<f64>>) {
  %0 = stablehlo.constant dense<[1.0, 2.7182817, 0.0, -1.0]> : tensor<4xf32>
  %1 = "stablehlo.log"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.constant dense<[(-1.0, 0.0)]> : tensor<1xcomplex<f64>>
  %3 = "stablehlo.log"(%2) : (tensor<1xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  return %1, %3 : tensor<4xf32>, tensor<1xcomplex<f64>>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}, tensor<1xcomplex<f64>> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 0.99999994, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[(0.0, 3.141592653589793)]> : tensor<1xcomplex<f64>>
  return %0, %1 : tensor<4xf32>, tensor<1xcomplex<f64>>
}
