// The angle of a sine.
func.func @main() -> (tensor<3xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, -0.5]> : tensor<3xf32>
  %1 = "chlo.asin"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func @expected() -> (tensor<3xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 1.5707964, -0.5235988]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
