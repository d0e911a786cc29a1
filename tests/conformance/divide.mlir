// Quotients: integers towards zero, by zero -1, and the smallest by -1 itself.
func.func @main() -> (tensor<4xi8>, tensor<2xui8>, tensor<3xf32>, tensor<1xcomplex<f64>>) {
  %0 = stablehlo.constant dense<[7, -7, 5, -128]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[2, 2, 0, -1]> : tensor<4xi8>
  %2 = "stablehlo.divide"(%0, %1) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %3 = stablehlo.constant dense<[7, 5]> : tensor<2xui8>
  %4 = stablehlo.constant dense<[2, 0]> : tensor<2xui8>
  %5 = "stablehlo.divide"(%3, %4) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %6 = stablehlo.constant dense<[1.0, -1.0, 0.0]> : tensor<3xf32>
  %7 = stablehlo.constant dense<[3.0, 0.0, 0.0]> : tensor<3xf32>
  %8 = "stablehlo.divide"(%6, %7) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %9 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %10 = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f64>>
  %11 = "stablehlo.divide"(%9, %10) : (tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  return %2, %5, %8, %11 : tensor<4xi8>, tensor<2xui8>, tensor<3xf32>, tensor<1xcomplex<f64>>
}
func.func @expected() -> (tensor<4xi8>, tensor<2xui8>, tensor<3xf32>, tensor<1xcomplex<f64>> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[3, -3, -1, -128]> : tensor<4xi8>
  %1 = stablehlo.constant dense<[3, 255]> : tensor<2xui8>
  %2 = stablehlo.constant dense<[0.33333334, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %3 = stablehlo.constant dense<[(-0.2, 0.4)]> : tensor<1xcomplex<f64>>
  return %0, %1, %2, %3 : tensor<4xi8>, tensor<2xui8>, tensor<3xf32>, tensor<1xcomplex<f64>>
}
