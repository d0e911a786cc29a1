// Between two bounds, which may be single numbers.
func.func @main() -> (tensor<3xi32>, tensor<3xf32>) {
  %lo = stablehlo.constant dense<[0, 0, 0]> : tensor<3xi32>
  %x = stablehlo.constant dense<[-5, 3, 20]> : tensor<3xi32>
  %hi = stablehlo.constant dense<[10, 10, 10]> : tensor<3xi32>
  %0 = stablehlo.clamp %lo, %x, %hi : tensor<3xi32>
  %l = stablehlo.constant dense<-1.0> : tensor<f32>
  %h = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.constant dense<[-2.0, 0.5, 0x7FC00000]> : tensor<3xf32>
  %1 = stablehlo.clamp %l, %y, %h : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0, %1 : tensor<3xi32>, tensor<3xf32>
}
func.func @expected() -> (tensor<3xi32>, tensor<3xf32>) {
  %0 = stablehlo.constant dense<[0, 3, 10]> : tensor<3xi32>
  %1 = stablehlo.constant dense<[-1.0, 0.5, 0x7FC00000]> : tensor<3xf32>
  return %0, %1 : tensor<3xi32>, tensor<3xf32>
}
