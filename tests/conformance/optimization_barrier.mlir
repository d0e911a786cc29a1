// Values pass as they are.
func.func @main() -> (tensor<2xi32>, tensor<f32>) {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<2.5> : tensor<f32>
  %0:2 = stablehlo.optimization_barrier %a, %b : tensor<2xi32>, tensor<f32>
  return %0#0, %0#1 : tensor<2xi32>, tensor<f32>
}
func.func @expected() -> (tensor<2xi32>, tensor<f32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<2.5> : tensor<f32>
  return %0, %1 : tensor<2xi32>, tensor<f32>
}
