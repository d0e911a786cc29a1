func.func public @main(%x: tensor<1x2x6x6xbf16>, %w: tensor<3x2x3x3xbf16>, %y: tensor<1x2x6x6xf16>, %v: tensor<3x2x3x3xf16>) -> (tensor<1x3x6x6xbf16>, tensor<1x3x6x6xf16>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xbf16>, tensor<3x2x3x3xbf16>) -> tensor<1x3x6x6xbf16>
  %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x6x6xf16>, tensor<3x2x3x3xf16>) -> tensor<1x3x6x6xf16>
  return %0, %1 : tensor<1x3x6x6xbf16>, tensor<1x3x6x6xf16>
}
