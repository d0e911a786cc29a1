// Signed, unsigned, of floats with NaN, and in the total order of floats.
func.func @main() -> (tensor<3xi1>, tensor<2xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<2xi1>) {
  %a = stablehlo.constant dense<[-1, 2, 3]> : tensor<3xi8>
  %b = stablehlo.constant dense<[1, 2, 2]> : tensor<3xi8>
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi1>
  %c = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
  %d = stablehlo.constant dense<[1, 1]> : tensor<2xui8>
  %1 = stablehlo.compare GE, %c, %d, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  %e = stablehlo.constant dense<[0x7FC00000, 0.0, 1.0]> : tensor<3xf32>
  %f = stablehlo.constant dense<[0x7FC00000, -0.0, 2.0]> : tensor<3xf32>
  %2 = stablehlo.compare EQ, %e, %f, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %3 = stablehlo.compare NE, %e, %f, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %4 = stablehlo.compare GT, %e, %f, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %5 = stablehlo.compare EQ, %e, %f, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %g = stablehlo.constant dense<[(1.0, 2.0), (1.0, 3.0)]> : tensor<2xcomplex<f32>>
  %h = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0)]> : tensor<2xcomplex<f32>>
  %6 = stablehlo.compare EQ, %g, %h, FLOAT : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xi1>, tensor<2xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<2xi1>
}
func.func @expected() -> (tensor<3xi1>, tensor<2xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<2xi1>) {
  %0 = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %1 = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %2 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
  %3 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %4 = stablehlo.constant dense<[false, true, false]> : tensor<3xi1>
  %5 = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %6 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xi1>, tensor<2xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<2xi1>
}
