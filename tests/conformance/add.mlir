// Sums: integers wrap, booleans are "or", floats round once.
func.func @main() -> (tensor<3xi8>, tensor<3xi1>, tensor<3xf32>, tensor<1xcomplex<f64>>, tensor<1xbf16>) {
  %0 = stablehlo.constant dense<[127, -1, 1]> : tensor<3xi8>
  %1 = stablehlo.constant dense<[1, 1, 2]> : tensor<3xi8>
  %2 = "stablehlo.add"(%0, %1) : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  %3 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %4 = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %5 = "stablehlo.add"(%3, %4) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  %6 = stablehlo.constant dense<[1.0, 16777216.0, 0x7F800000]> : tensor<3xf32>
  %7 = stablehlo.constant dense<[2.0, 1.0, 0xFF800000]> : tensor<3xf32>
  %8 = "stablehlo.add"(%6, %7) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %9 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %10 = stablehlo.constant dense<[(3.0, -5.0)]> : tensor<1xcomplex<f64>>
  %11 = "stablehlo.add"(%9, %10) : (tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  %12 = stablehlo.constant dense<[1.0]> : tensor<1xbf16>
  %13 = stablehlo.constant dense<[3.906250e-03]> : tensor<1xbf16>
  %14 = "stablehlo.add"(%12, %13) : (tensor<1xbf16>, tensor<1xbf16>) -> tensor<1xbf16>
  return %2, %5, %8, %11, %14 : tensor<3xi8>, tensor<3xi1>, tensor<3xf32>, tensor<1xcomplex<f64>>, tensor<1xbf16>
}
func.func @expected() -> (tensor<3xi8>, tensor<3xi1>, tensor<3xf32>, tensor<1xcomplex<f64>>, tensor<1xbf16>) {
  %0 = stablehlo.constant dense<[-128, 0, 3]> : tensor<3xi8>
  %1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %2 = stablehlo.constant dense<[3.0, 16777216.0, 0x7FC00000]> : tensor<3xf32>
  %3 = stablehlo.constant dense<[(4.0, -3.0)]> : tensor<1xcomplex<f64>>
  %4 = stablehlo.constant dense<[1.0]> : tensor<1xbf16>
  return %0, %1, %2, %3, %4 : tensor<3xi8>, tensor<3xi1>, tensor<3xf32>, tensor<1xcomplex<f64>>, tensor<1xbf16>
}
