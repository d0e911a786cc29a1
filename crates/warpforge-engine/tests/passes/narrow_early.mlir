func.func @main(%x: tensor<6x12xf32>, %y: tensor<6x12xf32>) -> (tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>) {
  // Both parts of the sum are read as bf16, in other shapes.
  %s = stablehlo.add %x, %y : tensor<6x12xf32>
  %a = stablehlo.slice %s [0:6, 0:6] : (tensor<6x12xf32>) -> tensor<6x6xf32>
  %b = stablehlo.reshape %a : (tensor<6x6xf32>) -> tensor<6x3x2xf32>
  %c = stablehlo.transpose %b, dims = [1, 0, 2] : (tensor<6x3x2xf32>) -> tensor<3x6x2xf32>
  %d = stablehlo.convert %c : (tensor<3x6x2xf32>) -> tensor<3x6x2xbf16>
  %e = stablehlo.slice %s [0:6, 8:12] : (tensor<6x12xf32>) -> tensor<6x4xf32>
  %f = stablehlo.transpose %e, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %g = stablehlo.convert %f : (tensor<4x6xf32>) -> tensor<4x6xbf16>
  // What was bf16 before is that again.
  %h = stablehlo.convert %x : (tensor<6x12xf32>) -> tensor<6x12xbf16>
  %i = stablehlo.convert %h : (tensor<6x12xbf16>) -> tensor<6x12xf32>
  %j = stablehlo.transpose %i, dims = [1, 0] : (tensor<6x12xf32>) -> tensor<12x6xf32>
  %k = stablehlo.convert %j : (tensor<12x6xf32>) -> tensor<12x6xbf16>
  // This one is wanted as it is, too.
  %m = stablehlo.multiply %x, %y : tensor<6x12xf32>
  %n = stablehlo.reshape %m : (tensor<6x12xf32>) -> tensor<72xf32>
  %o = stablehlo.convert %n : (tensor<72xf32>) -> tensor<72xbf16>
  %p = stablehlo.convert %o : (tensor<72xbf16>) -> tensor<72xf32>
  %q = stablehlo.add %n, %p : tensor<72xf32>
  return %d, %g, %k, %q : tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>
}
