module @elementwise {
  func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %s: tensor<f32>, %p: tensor<2x3xi1>) {
    %0 = stablehlo.add %x, %y : tensor<2x3xf32>
    %1 = stablehlo.compare GE,  : tensor<2x3xcomplex<f32>>
     return
  }
}
