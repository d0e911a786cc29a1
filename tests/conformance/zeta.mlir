// The sum of (q + k)^-x; at x = 2, q = 1 it is pi^2 / 6.
func.func @main() -> (tensor<2xf32>) {
  %0 = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %1 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = "chlo.zeta"(%0, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
func.func @expected() -> (tensor<2xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[1.6449341, 0.08232323]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
