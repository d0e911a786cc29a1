// -1, 0 or 1; zeros keep their sign, NaN stays.
func.func @main() -> (tensor<3xi32>, tensor<5xf32>, tensor<2xcomplex<f64>>) {
  %0 = stablehlo.constant dense<[-3, 0, 9]> : tensor<3xi32>
  %1 = "stablehlo.sign"(%0) : (tensor<3xi32>) -> tensor<3xi32>
  %2 = stablehlo.constant dense<[-0.0, 0.0, -2.5, 0x7FC00000, 0x7F800000]> : tensor<5xf32>
  %3 = "stablehlo.sign"(%2) : (tensor<5xf32>) -> tensor<5xf32>
  %4 = stablehlo.constant dense<[(3.0, 4.0), (0.0, 0.0)]> : tensor<2xcomplex<f64>>
  %5 = "stablehlo.sign"(%4) : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  return %1, %3, %5 : tensor<3xi32>, tensor<5xf32>, tensor<2xcomplex<f64>>
}
func.func @expected() -> (tensor<3xi32>, tensor<5xf32>, tensor<2xcomplex<f64>> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[-1, 0, 1]> : tensor<3xi32>
  %1 = stablehlo.constant dense<[-0.0, 0.0, -1.0, 0x7FC00000, 1.0]> : tensor<5xf32>
  %2 = stablehlo.constant dense<[(0.6, 0.8), (0.0, 0.0)]> : tensor<2xcomplex<f64>>
  return %0, %1, %2 : tensor<3xi32>, tensor<5xf32>, tensor<2xcomplex<f64>>
}
