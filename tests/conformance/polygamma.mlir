// Derivatives of digamma; of order 1 at 1 it is pi^2 / 6.
func.func @main() -> (tensor<3xf32>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %1 = stablehlo.constant dense<[1.0, 1.0, 1.0]> : tensor<3xf32>
  %2 = "chlo.polygamma"(%0, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}
func.func @expected() -> (tensor<3xf32> {check.ulps = 2 : i64}) {
  %0 = stablehlo.constant dense<[-0.5772157, 1.6449341, -2.4041138]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}
