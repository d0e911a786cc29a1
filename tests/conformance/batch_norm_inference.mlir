// Normalized by a given mean and variance.
func.func @main() -> (tensor<2x2xf32>) {
  %x = stablehlo.constant dense<[[1.0, 10.0], [3.0, 30.0]]> : tensor<2x2xf32>
  %s = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %o = stablehlo.constant dense<[5.0, -1.0]> : tensor<2xf32>
  %m = stablehlo.constant dense<[2.0, 20.0]> : tensor<2xf32>
  %v = stablehlo.constant dense<[1.0, 100.0]> : tensor<2xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func @expected() -> (tensor<2x2xf32>) {
  %0 = stablehlo.constant dense<[[3.0, -2.0], [7.0, 0.0]]> : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
