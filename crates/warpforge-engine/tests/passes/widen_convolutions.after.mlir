module {
  func.func public @main(%arg0: tensor<1x2x6x6xbf16>, %arg1: tensor<3x2x3x3xbf16>, %arg2: tensor<1x2x6x6xf16>, %arg3: tensor<3x2x3x3xf16>) -> (tensor<1x3x6x6xbf16>, tensor<1x3x6x6xf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<1x2x6x6xbf16>) -> tensor<1x2x6x6xf32>
    %1 = stablehlo.convert %arg1 : (tensor<3x2x3x3xbf16>) -> tensor<3x2x3x3xf32>
    %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32>
    %3 = stablehlo.convert %2 : (tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xbf16>
    %4 = stablehlo.convert %arg2 : (tensor<1x2x6x6xf16>) -> tensor<1x2x6x6xf32>
    %5 = stablehlo.convert %arg3 : (tensor<3x2x3x3xf16>) -> tensor<3x2x3x3xf32>
    %6 = stablehlo.convolution(%4, %5) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32>
    %7 = stablehlo.convert %6 : (tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xf16>
    return %3, %7 : tensor<1x3x6x6xbf16>, tensor<1x3x6x6xf16>
  }
}
