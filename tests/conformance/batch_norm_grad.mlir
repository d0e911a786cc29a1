// Gradients of operand, scale and offset.
func.func @main() -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %x = stablehlo.constant dense<[[1.0], [3.0]]> : tensor<2x1xf32>
  %s = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %m = stablehlo.constant dense<[2.0]> : tensor<1xf32>
  %v = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %g = stablehlo.constant dense<[[1.0], [0.0]]> : tensor<2x1xf32>
  %0, %1, %2 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>)
  return %0, %1, %2 : tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>
}
func.func @expected() -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %0 = stablehlo.constant dense<[[0.0], [0.0]]> : tensor<2x1xf32>
  %1 = stablehlo.constant dense<[-1.0]> : tensor<1xf32>
  %2 = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  return %0, %1, %2 : tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>
}
