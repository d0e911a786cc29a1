// The size of a dimension as a number.
func.func @main() -> (tensor<i32>) {
  %a = stablehlo.constant dense<0> : tensor<2x3xi8>
  %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<2x3xi8>) -> tensor<i32>
  return %0 : tensor<i32>
}
func.func @expected() -> (tensor<i32>) {
  %0 = stablehlo.constant dense<3> : tensor<i32>
  return %0 : tensor<i32>
}
