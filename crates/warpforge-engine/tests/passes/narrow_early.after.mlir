module {
  func.func public @main(%arg0: tensor<6x12xf32>, %arg1: tensor<6x12xf32>, %arg2: tensor<4x8xbf16>, %arg3: tensor<5x1xi32>) -> (tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>, tensor<2x8xbf16>, tensor<5x8xbf16>, tensor<2x8xbf16>, tensor<3x12xbf16>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<6x12xf32>
    %1 = stablehlo.convert %0 : (tensor<6x12xf32>) -> tensor<6x12xbf16>
    %2 = stablehlo.slice %1 [0:6, 0:6] : (tensor<6x12xbf16>) -> tensor<6x6xbf16>
    %3 = stablehlo.reshape %2 : (tensor<6x6xbf16>) -> tensor<6x3x2xbf16>
    %4 = stablehlo.transpose %3, dims = [1, 0, 2] : (tensor<6x3x2xbf16>) -> tensor<3x6x2xbf16>
    %5 = stablehlo.slice %1 [0:6, 8:12] : (tensor<6x12xbf16>) -> tensor<6x4xbf16>
    %6 = stablehlo.transpose %5, dims = [1, 0] : (tensor<6x4xbf16>) -> tensor<4x6xbf16>
    %7 = stablehlo.convert %arg0 : (tensor<6x12xf32>) -> tensor<6x12xbf16>
    %8 = stablehlo.transpose %7, dims = [1, 0] : (tensor<6x12xbf16>) -> tensor<12x6xbf16>
    %9 = stablehlo.multiply %arg0, %arg1 : tensor<6x12xf32>
    %10 = stablehlo.reshape %9 : (tensor<6x12xf32>) -> tensor<72xf32>
    %11 = stablehlo.convert %10 : (tensor<72xf32>) -> tensor<72xbf16>
    %12 = stablehlo.convert %11 : (tensor<72xbf16>) -> tensor<72xf32>
    %13 = stablehlo.add %10, %12 : tensor<72xf32>
    %14 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.convert %14 : (tensor<f32>) -> tensor<bf16>
    %18 = "stablehlo.reduce_window"(%arg2, %16) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg4: tensor<bf16>, %arg5: tensor<bf16>):
      %17 = stablehlo.maximum %arg4, %arg5 : tensor<bf16>
      stablehlo.return %17 : tensor<bf16>
    }) : (tensor<4x8xbf16>, tensor<bf16>) -> tensor<2x8xbf16>
    %19 = "stablehlo.gather"(%arg2, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xbf16>, tensor<5x1xi32>) -> tensor<5x8xbf16>
    %20 = stablehlo.convert %arg2 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
    %22 = "stablehlo.reduce_window"(%20, %15) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %21 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %21 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<2x8xf32>
    %23 = stablehlo.convert %22 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
    %24 = stablehlo.subtract %arg0, %arg1 : tensor<6x12xf32>
    %25 = stablehlo.convert %24 : (tensor<6x12xf32>) -> tensor<6x12xbf16>
    %26 = stablehlo.convert %14 : (tensor<f32>) -> tensor<bf16>
    %28 = "stablehlo.reduce_window"(%25, %26) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg8: tensor<bf16>, %arg9: tensor<bf16>):
      %27 = stablehlo.maximum %arg8, %arg9 : tensor<bf16>
      stablehlo.return %27 : tensor<bf16>
    }) : (tensor<6x12xbf16>, tensor<bf16>) -> tensor<3x12xbf16>
    return %4, %6, %8, %13, %18, %19, %23, %28 : tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>, tensor<2x8xbf16>, tensor<5x8xbf16>, tensor<2x8xbf16>, tensor<3x12xbf16>
  }
}
