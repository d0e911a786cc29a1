// Products: integers wrap, booleans are "and", floats round once.
func.func @main() -> (tensor<2xi8>, tensor<2xi1>, tensor<2xf32>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[64, -3]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[2, 5]> : tensor<2xi8>
  %2 = "stablehlo.multiply"(%0, %1) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %3 = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %4 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %5 = "stablehlo.multiply"(%3, %4) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %6 = stablehlo.constant dense<[1.5, 0.0]> : tensor<2xf32>
  %7 = stablehlo.constant dense<[-2.0, 0x7F800000]> : tensor<2xf32>
  %8 = "stablehlo.multiply"(%6, %7) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %9 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %10 = stablehlo.constant dense<[(3.0, 4.0)]> : tensor<1xcomplex<f32>>
  %11 = "stablehlo.multiply"(%9, %10) : (tensor<1xcomplex<f32>>, tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  return %2, %5, %8, %11 : tensor<2xi8>, tensor<2xi1>, tensor<2xf32>, tensor<1xcomplex<f32>>
}
func.func @expected() -> (tensor<2xi8>, tensor<2xi1>, tensor<2xf32>, tensor<1xcomplex<f32>>) {
  %0 = stablehlo.constant dense<[-128, -15]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %2 = stablehlo.constant dense<[-3.0, 0x7FC00000]> : tensor<2xf32>
  %3 = stablehlo.constant dense<[(-5.0, 10.0)]> : tensor<1xcomplex<f32>>
  return %0, %1, %2, %3 : tensor<2xi8>, tensor<2xi1>, tensor<2xf32>, tensor<1xcomplex<f32>>
}
