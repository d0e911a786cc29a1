// A named op with its meaning beside it.
func.func @main() -> tensor<2xi32> {
  %0 = stablehlo.constant dense<[1, -2]> : tensor<2xi32>
  %1 = stablehlo.composite "example.twice" %0 {decomposition = @twice} : (tensor<2xi32>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}
func.func private @twice(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.add %x, %x : tensor<2xi32>
  return %0 : tensor<2xi32>
}
func.func @expected() -> tensor<2xi32> {
  %0 = stablehlo.constant dense<[2, -4]> : tensor<2xi32>
  return %0 : tensor<2xi32>
}
