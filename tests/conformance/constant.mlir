// Elements one by one, one for all, as bits, and none.
func.func @main() -> (tensor<2x2xi32>, tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<0x2xf32>, tensor<2xi1>) {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<7.5> : tensor<3xf32>
  %c = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %d = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %e = stablehlo.constant dense<> : tensor<0x2xf32>
  %f = stablehlo.constant dense<true> : tensor<2xi1>
  return %a, %b, %c, %d, %e, %f : tensor<2x2xi32>, tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<0x2xf32>, tensor<2xi1>
}
func.func @expected() -> (tensor<2x2xi32>, tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<0x2xf32>, tensor<2xi1>) {
  %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %1 = stablehlo.constant dense<[7.5, 7.5, 7.5]> : tensor<3xf32>
  %2 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %3 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %4 = stablehlo.constant dense<> : tensor<0x2xf32>
  %5 = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  return %0, %1, %2, %3, %4, %5 : tensor<2x2xi32>, tensor<3xf32>, tensor<2xf32>, tensor<f32>, tensor<0x2xf32>, tensor<2xi1>
}
