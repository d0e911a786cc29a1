// The negative of numbers of every kind; unsigned ones wrap.
func.func @main() -> (tensor<3xi8>, tensor<2xui8>, tensor<2xf16>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[1, -128, 0]> : tensor<3xi8>
  %1 = "stablehlo.negate"(%0) : (tensor<3xi8>) -> tensor<3xi8>
  %2 = stablehlo.constant dense<[1, 0]> : tensor<2xui8>
  %3 = "stablehlo.negate"(%2) : (tensor<2xui8>) -> tensor<2xui8>
  %4 = stablehlo.constant dense<[0.0, -1.5]> : tensor<2xf16>
  %5 = "stablehlo.negate"(%4) : (tensor<2xf16>) -> tensor<2xf16>
  %6 = stablehlo.constant dense<[(1.0, -2.0)]> : tensor<1xcomplex<f32>>
  %7 = "stablehlo.negate"(%6) : (tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  return %1, %3, %5, %7 : tensor<3xi8>, tensor<2xui8>, tensor<2xf16>, tensor<1xcomplex<f32>>
}
func.func @expected() -> (tensor<3xi8>, tensor<2xui8>, tensor<2xf16>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[-1, -128, 0]> : tensor<3xi8>
  %1 = stablehlo.constant dense<[255, 0]> : tensor<2xui8>
  %2 = stablehlo.constant dense<[-0.0, 1.5]> : tensor<2xf16>
  %3 = stablehlo.constant dense<[(-1.0, 2.0)]> : tensor<1xcomplex<f32>>
  return %0, %1, %2, %3 : tensor<3xi8>, tensor<2xui8>, tensor<2xf16>, tensor<1xcomplex<f32>>
}
