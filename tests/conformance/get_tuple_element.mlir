// The first and the second of two values.
func.func @main() -> (tensor<i32>) {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2.5> : tensor<f32>
  %0 = stablehlo.tuple %a, %b : tuple<tensor<i32>, tensor<f32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<i32>, tensor<f32>>) -> tensor<i32>
  return %1 : tensor<i32>
}
func.func @expected() -> (tensor<i32>) {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32>
}
