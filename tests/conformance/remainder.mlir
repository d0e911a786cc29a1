// What is left of a division, with the sign of the dividend; by zero the dividend itself.
func.func @main() -> (tensor<5xi64>, tensor<3xf32>) {
  %0 = stablehlo.constant dense<[17, -17, 17, -17, 7]> : tensor<5xi64>
  %1 = stablehlo.constant dense<[3, 3, -3, -3, 0]> : tensor<5xi64>
  %2 = "stablehlo.remainder"(%0, %1) : (tensor<5xi64>, tensor<5xi64>) -> tensor<5xi64>
  %3 = stablehlo.constant dense<[17.5, -17.5, 1.0]> : tensor<3xf32>
  %4 = stablehlo.constant dense<[3.0, 3.0, 0.0]> : tensor<3xf32>
  %5 = "stablehlo.remainder"(%3, %4) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %2, %5 : tensor<5xi64>, tensor<3xf32>
}
func.func @expected() -> (tensor<5xi64>, tensor<3xf32>) {
  %0 = stablehlo.constant dense<[2, -2, 2, -2, 7]> : tensor<5xi64>
  %1 = stablehlo.constant dense<[2.5, -2.5, 0x7FC00000]> : tensor<3xf32>
  return %0, %1 : tensor<5xi64>, tensor<3xf32>
}
