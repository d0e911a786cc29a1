// Between kinds and widths: towards zero to integers, once rounded to floats, by whether it is zero to booleans.
func.func @main() -> (tensor<3xi32>, tensor<3xi1>, tensor<2xf32>, tensor<2xui8>, tensor<2xbf16>, tensor<2xf16>, tensor<2xf64>, tensor<2xcomplex<f64>>) {
  %a = stablehlo.constant dense<[-1.7, 1.7, 0.0]> : tensor<3xf32>
  %0 = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xi32>
  %1 = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xi1>
  %b = stablehlo.constant dense<[16777217, -1]> : tensor<2xi64>
  %2 = stablehlo.convert %b : (tensor<2xi64>) -> tensor<2xf32>
  %3 = stablehlo.convert %b : (tensor<2xi64>) -> tensor<2xui8>
  %c = stablehlo.constant dense<[1.00390625, 65520.0]> : tensor<2xf32>
  %4 = stablehlo.convert %c : (tensor<2xf32>) -> tensor<2xbf16>
  %5 = stablehlo.convert %c : (tensor<2xf32>) -> tensor<2xf16>
  %d = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %6 = stablehlo.convert %d : (tensor<2xi1>) -> tensor<2xf64>
  %7 = stablehlo.convert %c : (tensor<2xf32>) -> tensor<2xcomplex<f64>>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3xi32>, tensor<3xi1>, tensor<2xf32>, tensor<2xui8>, tensor<2xbf16>, tensor<2xf16>, tensor<2xf64>, tensor<2xcomplex<f64>>
}
func.func @expected() -> (tensor<3xi32>, tensor<3xi1>, tensor<2xf32>, tensor<2xui8>, tensor<2xbf16>, tensor<2xf16>, tensor<2xf64>, tensor<2xcomplex<f64>>) {
  %0 = stablehlo.constant dense<[-1, 1, 0]> : tensor<3xi32>
  %1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %2 = stablehlo.constant dense<[16777216.0, -1.0]> : tensor<2xf32>
  %3 = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %4 = stablehlo.constant dense<[1.0, 65536.0]> : tensor<2xbf16>
  %5 = stablehlo.constant dense<[1.00390625, 0x7C00]> : tensor<2xf16>
  %6 = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf64>
  %7 = stablehlo.constant dense<[(1.00390625, 0.0), (65520.0, 0.0)]> : tensor<2xcomplex<f64>>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3xi32>, tensor<3xi1>, tensor<2xf32>, tensor<2xui8>, tensor<2xbf16>, tensor<2xf16>, tensor<2xf64>, tensor<2xcomplex<f64>>
}
