// The triangle whose product with its transpose is the operand.
func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
  %1 = stablehlo.cholesky %a, lower = false : tensor<2x2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %k = stablehlo.constant dense<true> : tensor<2x2xi1>
  %lo = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %n = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %2 = stablehlo.select %lo, %0, %n : tensor<2x2xi1>, tensor<2x2xf32>
  %up = stablehlo.transpose %lo, dims = [1, 0] : (tensor<2x2xi1>) -> tensor<2x2xi1>
  %3 = stablehlo.select %up, %1, %n : tensor<2x2xi1>, tensor<2x2xf32>
  return %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}
func.func @expected() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = stablehlo.constant dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %1 = stablehlo.constant dense<[[2.0, 1.0], [0.0, 2.0]]> : tensor<2x2xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}
