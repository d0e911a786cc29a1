// The same elements in another shape.
func.func @main() -> (tensor<3x2xi32>, tensor<i32>) {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.reshape %a : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %1 = stablehlo.slice %a [0:1, 0:1] : (tensor<2x3xi32>) -> tensor<1x1xi32>
  %2 = stablehlo.reshape %1 : (tensor<1x1xi32>) -> tensor<i32>
  return %0, %2 : tensor<3x2xi32>, tensor<i32>
}
func.func @expected() -> (tensor<3x2xi32>, tensor<i32>) {
  %0 = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  return %0, %1 : tensor<3x2xi32>, tensor<i32>
}
