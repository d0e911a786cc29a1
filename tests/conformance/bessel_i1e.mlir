// The modified Bessel function of the first kind and order 1, scaled by exp(-|x|).
func.func @main() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, -1.0, 20.0]> : tensor<4xf32>
  %1 = "chlo.bessel_i1e"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[0.0, 0.20791042, -0.20791042, 0.08750622]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
