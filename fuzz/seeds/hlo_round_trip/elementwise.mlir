module @elementwise {
  func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %s: tensor<f32>, %p: tensor<2x3xi1>) {
    %0 = stablehlo.add %x, %y : tensor<2x3xf32>
    %1 = stablehlo.compare GE, %x, %y, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %2 = stablehlo.select %p, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>
    %3 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %4 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %5 = stablehlo.complex %x, %y : tensor<2x3xcomplex<f32>>
    %6 = stablehlo.reduce_precision %x, format = e5m10 : tensor<2x3xf32>
    %7 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %8 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2x3xf32>
    return
  }
}
