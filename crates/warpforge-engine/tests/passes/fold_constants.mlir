func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<2.0> : tensor<3xf32>
  %c = stablehlo.multiply %a, %b : tensor<3xf32>
  %d = stablehlo.add %x, %c : tensor<3xf32>
  return %d : tensor<3xf32>
}
