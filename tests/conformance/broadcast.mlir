// New dimensions come first.
func.func @main() -> (tensor<3x2xi32>) {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 3>}> : (tensor<2xi32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
func.func @expected() -> (tensor<3x2xi32>) {
  %0 = stablehlo.constant dense<[[1, 2], [1, 2], [1, 2]]> : tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}
