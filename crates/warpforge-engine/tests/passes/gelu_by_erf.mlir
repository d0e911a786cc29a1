func.func @main(%x: tensor<3x4xf32>, %g: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %half = stablehlo.constant dense<5.0e-01> : tensor<f32>
  %halves = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  %root = stablehlo.constant dense<0.707106769> : tensor<3x4xf32>
  // A GELU of which a gradient is taken.
  %0 = stablehlo.multiply %halves, %x : tensor<3x4xf32>
  %1 = stablehlo.negate %x : tensor<3x4xf32>
  %2 = stablehlo.multiply %1, %root : tensor<3x4xf32>
  %3 = chlo.erfc %2 : tensor<3x4xf32> -> tensor<3x4xf32>
  %4 = stablehlo.multiply %0, %3 : tensor<3x4xf32>
  %5 = stablehlo.multiply %g, %3 : tensor<3x4xf32>
  // One of which none is, and an erfc that belongs to no GELU.
  %6 = stablehlo.multiply %halves, %g : tensor<3x4xf32>
  %7 = stablehlo.negate %g : tensor<3x4xf32>
  %8 = stablehlo.multiply %7, %root : tensor<3x4xf32>
  %9 = chlo.erfc %8 : tensor<3x4xf32> -> tensor<3x4xf32>
  %10 = stablehlo.multiply %6, %9 : tensor<3x4xf32>
  %11 = chlo.erfc %x : tensor<3x4xf32> -> tensor<3x4xf32>
  %12 = stablehlo.multiply %11, %0 : tensor<3x4xf32>
  %13 = stablehlo.add %12, %11 : tensor<3x4xf32>
  %14 = stablehlo.add %10, %13 : tensor<3x4xf32>
  return %4, %5, %14 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
