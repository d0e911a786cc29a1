// The same bits as another type; the last dimension takes up a change of width.
func.func @main() -> (tensor<i32>, tensor<4xui8>, tensor<2xf32>) {
  %a = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<i32>
  %1 = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<4xui8>
  %b = stablehlo.constant dense<[[0, 0, 128, 63], [0, 0, 0, 64]]> : tensor<2x4xui8>
  %2 = stablehlo.bitcast_convert %b : (tensor<2x4xui8>) -> tensor<2xf32>
  return %0, %1, %2 : tensor<i32>, tensor<4xui8>, tensor<2xf32>
}
func.func @expected() -> (tensor<i32>, tensor<4xui8>, tensor<2xf32>) {
  %0 = stablehlo.constant dense<1065353216> : tensor<i32>
  %1 = stablehlo.constant dense<[0, 0, 128, 63]> : tensor<4xui8>
  %2 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0, %1, %2 : tensor<i32>, tensor<4xui8>, tensor<2xf32>
}
