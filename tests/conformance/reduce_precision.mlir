// Rounded to fewer bits; what is too large for fewer exponent bits is infinite.
func.func @main() -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.constant dense<[1.00390625, 65535.0, 65504.0, -0.0]> : tensor<4xf32>
  %0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<4xf32>
  %1 = stablehlo.reduce_precision %a, format = e8m7 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<[1.00390625, 0x7F800000, 65504.0, -0.0]> : tensor<4xf32>
  %1 = stablehlo.constant dense<[1.0, 65536.0, 65536.0, -0.0]> : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
