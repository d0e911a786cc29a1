// The angle of a point, by the quadrant it lies in.
func.func @main() -> (tensor<5xf32>) {
  %0 = stablehlo.constant dense<[1.0, 1.0, -1.0, 0.0, -0.0]> : tensor<5xf32>
  %1 = stablehlo.constant dense<[1.0, -1.0, -1.0, -1.0, -1.0]> : tensor<5xf32>
  %2 = "stablehlo.atan2"(%0, %1) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %2 : tensor<5xf32>
}
func.func @expected() -> (tensor<5xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.7853982, 2.3561945, -2.3561945, 3.1415927, -3.1415927]> : tensor<5xf32>
  return %0 : tensor<5xf32>
}
