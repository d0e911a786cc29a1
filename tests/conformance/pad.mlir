// Around and between; negative padding cuts.
func.func @main() -> (tensor<8xi32>, tensor<3xi32>) {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %a, %z, low = [1], high = [2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<8xi32>
  %1 = stablehlo.pad %a, %z, low = [-1], high = [1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  return %0, %1 : tensor<8xi32>, tensor<3xi32>
}
func.func @expected() -> (tensor<8xi32>, tensor<3xi32>) {
  %0 = stablehlo.constant dense<[0, 1, 0, 2, 0, 3, 0, 0]> : tensor<8xi32>
  %1 = stablehlo.constant dense<[2, 3, 0]> : tensor<3xi32>
  return %0, %1 : tensor<8xi32>, tensor<3xi32>
}
