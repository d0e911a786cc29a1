func.func @main(%x: tensor<6x12xf32>, %y: tensor<6x12xf32>, %w: tensor<4x8xbf16>, %z: tensor<5x1xi32>) -> (tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>, tensor<2x8xbf16>, tensor<5x8xbf16>, tensor<2x8xbf16>, tensor<3x12xbf16>) {
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
  // What was widened to find the greatest in a window or to be looked up stays narrow; a sum does not.
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n0 = stablehlo.convert %w : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %n1 = "stablehlo.reduce_window"(%n0, %low) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %t = stablehlo.maximum %l, %r : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %n2 = stablehlo.convert %n1 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  %n3 = stablehlo.convert %w : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %n4 = "stablehlo.gather"(%n3, %z) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>
  %n5 = stablehlo.convert %n4 : (tensor<5x8xf32>) -> tensor<5x8xbf16>
  %n6 = stablehlo.convert %w : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %n7 = "stablehlo.reduce_window"(%n6, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %t = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %n8 = stablehlo.convert %n7 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
  // Of what only the greatest in a window is wanted, narrowed, it is found among narrow numbers.
  %o0 = stablehlo.subtract %x, %y : tensor<6x12xf32>
  %o1 = "stablehlo.reduce_window"(%o0, %low) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %t = stablehlo.maximum %l, %r : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<6x12xf32>, tensor<f32>) -> tensor<3x12xf32>
  %o2 = stablehlo.convert %o1 : (tensor<3x12xf32>) -> tensor<3x12xbf16>
  return %d, %g, %k, %q, %n2, %n5, %n8, %o2 : tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>, tensor<2x8xbf16>, tensor<5x8xbf16>, tensor<2x8xbf16>, tensor<3x12xbf16>
}
