// Uniform numbers lie between their bounds.
func.func @main() -> (tensor<4xi1>) {
  %l = stablehlo.constant dense<2.0> : tensor<f32>
  %h = stablehlo.constant dense<3.0> : tensor<f32>
  %s = stablehlo.constant dense<[4]> : tensor<1xi64>
  %0 = stablehlo.rng %l, %h, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %hb = stablehlo.broadcast_in_dim %h, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.compare GE, %0, %lb, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = stablehlo.compare LT, %0, %hb, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = stablehlo.and %1, %2 : tensor<4xi1>
  return %3 : tensor<4xi1>
}
func.func @expected() -> (tensor<4xi1>) {
  %0 = stablehlo.constant dense<true> : tensor<4xi1>
  return %0 : tensor<4xi1>
}
