// Several values as one, and apart again.
func.func @main() -> (tensor<f32>) {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2.5> : tensor<f32>
  %0 = stablehlo.tuple %a, %b : tuple<tensor<i32>, tensor<f32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func @expected() -> (tensor<f32>) {
  %0 = stablehlo.constant dense<2.5> : tensor<f32>
  return %0 : tensor<f32>
}
