func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.5:3,0.25,1.0e-3:-1}>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.5:3,0.25,1.0e-3:-1}>>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
