module {
  func.func public @main(%arg0: tensor<6x12xf32>, %arg1: tensor<6x12xf32>) -> (tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>) {
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
    return %4, %6, %8, %13 : tensor<3x6x2xbf16>, tensor<4x6xbf16>, tensor<12x6xbf16>, tensor<72xf32>
  }
}
