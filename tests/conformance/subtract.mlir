// Differences: integers wrap.
func.func @main() -> (tensor<2xi8>, tensor<1xui16>, tensor<2xf32>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[-128, 1]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %2 = "stablehlo.subtract"(%0, %1) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %3 = stablehlo.constant dense<[0]> : tensor<1xui16>
  %4 = stablehlo.constant dense<[1]> : tensor<1xui16>
  %5 = "stablehlo.subtract"(%3, %4) : (tensor<1xui16>, tensor<1xui16>) -> tensor<1xui16>
  %6 = stablehlo.constant dense<[1.0, 0x7F800000]> : tensor<2xf32>
  %7 = stablehlo.constant dense<[3.0, 0x7F800000]> : tensor<2xf32>
  %8 = "stablehlo.subtract"(%6, %7) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %9 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %10 = stablehlo.constant dense<[(3.0, -5.0)]> : tensor<1xcomplex<f32>>
  %11 = "stablehlo.subtract"(%9, %10) : (tensor<1xcomplex<f32>>, tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  return %2, %5, %8, %11 : tensor<2xi8>, tensor<1xui16>, tensor<2xf32>, tensor<1xcomplex<f32>>
}
func.func @expected() -> (tensor<2xi8>, tensor<1xui16>, tensor<2xf32>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[127, -1]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[65535]> : tensor<1xui16>
  %2 = stablehlo.constant dense<[-2.0, 0x7FC00000]> : tensor<2xf32>
  %3 = stablehlo.constant dense<[(-2.0, 7.0)]> : tensor<1xcomplex<f32>>
  return %0, %1, %2, %3 : tensor<2xi8>, tensor<1xui16>, tensor<2xf32>, tensor<1xcomplex<f32>>
}
