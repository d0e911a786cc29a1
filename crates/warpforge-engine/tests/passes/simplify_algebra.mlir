func.func public @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %one : tensor<4xf32>
  %1 = stablehlo.power %0, %two : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  %3 = stablehlo.negate %2 : tensor<4xf32>
  %4 = stablehlo.divide %3, %one : tensor<4xf32>
  %5 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<4xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %7 = stablehlo.reduce(%5 init: %least) applies stablehlo.maximum across dimensions = [0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
