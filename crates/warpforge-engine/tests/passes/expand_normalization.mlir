func.func @main(%x: tensor<2x3x4xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %y: tensor<2x3x4xbf16>, %s: tensor<4xbf16>, %g: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xbf16>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 1.000000e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %v = stablehlo.abs %s : tensor<4xbf16>
  %1 = "stablehlo.batch_norm_inference"(%y, %s, %s, %s, %v) <{epsilon = 1.000000e-01 : f32, feature_index = 2 : i64}> : (tensor<2x3x4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) -> tensor<2x3x4xbf16>
  %2:3 = "stablehlo.batch_norm_grad"(%x, %scale, %0#1, %0#2, %g) <{epsilon = 1.000000e-05 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2, %1, %2#0, %2#1, %2#2 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xbf16>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}
