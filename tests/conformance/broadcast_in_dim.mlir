// Dimensions go where they are told; those of size 1 are stretched.
func.func @main() -> (tensor<3x2xi32>, tensor<2xi32>) {
  %a = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %0 = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x1xi32>) -> tensor<3x2xi32>
  %s = stablehlo.constant dense<5> : tensor<i32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<2xi32>
  return %0, %1 : tensor<3x2xi32>, tensor<2xi32>
}
func.func @expected() -> (tensor<3x2xi32>, tensor<2xi32>) {
  %0 = stablehlo.constant dense<[[1, 2], [1, 2], [1, 2]]> : tensor<3x2xi32>
  %1 = stablehlo.constant dense<[5, 5]> : tensor<2xi32>
  return %0, %1 : tensor<3x2xi32>, tensor<2xi32>
}
