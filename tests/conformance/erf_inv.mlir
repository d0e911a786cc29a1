// The inverse of the error function.
func.func @main() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[0.0, 0.5, -0.5, 1.0, 1.5]> : tensor<5xf32>
  %1 = "chlo.erf_inv"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  return %1 : tensor<5xf32>
}
func.func @expected() -> (tensor<5xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 0.47693628, -0.47693628, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
  return %0 : tensor<5xf32>
}
