// The numbers that quantized ones stand for.
func.func @main() -> (tensor<4xf32>) {
  %a = stablehlo.constant dense<[-10.0, 0.0, 1.1, 100.0]> : tensor<4xf32>
  %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:-1>>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<4x!quant.uniform<i8:f32, 0.5:-1>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @expected() -> (tensor<4xf32>) {
  %0 = stablehlo.constant dense<[-10.0, 0.0, 1.0, 64.0]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
