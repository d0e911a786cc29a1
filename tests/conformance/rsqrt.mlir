// One over the square root.
func.func @main() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[4.0, 0.25, 0.0, -0.0, -1.0]> : tensor<5xf32>
  %1 = "stablehlo.rsqrt"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
func.func @expected() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[0.5, 2.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<5xf32>
  return %0 : tensor<5xf32>
}
