// Divided by the scale, rounded, moved by the zero point, kept within the type.
func.func @main() -> (tensor<4xi8>) {
  %a = stablehlo.constant dense<[-10.0, 0.0, 1.0, 100.0]> : tensor<4xf32>
  %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:-1>>
  %1 = stablehlo.bitcast_convert %0 : (tensor<4x!quant.uniform<i8:f32, 0.5:-1>>) -> tensor<4xi8>
  return %1 : tensor<4xi8>
}
func.func @expected() -> (tensor<4xi8>) {
  %0 = stablehlo.constant dense<[-21, -1, 1, 127]> : tensor<4xi8>
  return %0 : tensor<4xi8>
}
