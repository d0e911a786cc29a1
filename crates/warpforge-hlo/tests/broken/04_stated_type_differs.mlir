module @jit_scale {
  func.func public @main(%arg0: tensor<4xbf16>) -> tensor<4xbf16> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
    return %arg0 : tensor<4xbf16>
  }
}
