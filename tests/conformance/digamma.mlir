// The derivative of the logarithm of gamma; Euler's constant at 1.
func.func @main() -> (tensor<3xf32>) {
  %0 = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf32>
  %1 = "chlo.digamma"(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func @expected() -> (tensor<3xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[-0.5772157, 0.42278433, -1.9635100]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
