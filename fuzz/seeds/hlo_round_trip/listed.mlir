func.func @main(%x: tensor<2x3xf32>, %m: tensor<3x3xf32>, %c: tensor<4xcomplex<f32>>, %t: tensor<2xui64>, %n: tensor<2xi64>, %i: tensor<i32>) {
  %0 = stablehlo.iota dim = 1 : tensor<2x3xi64>
  %1 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x5x3xf32>
  %2 = stablehlo.reverse %x, dims = [0] : tensor<2x3xf32>
  %3 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %4 = stablehlo.fft %c, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %5 = stablehlo.cholesky %m, lower = true : tensor<3x3xf32>
  %6, %7 = stablehlo.rng_bit_generator %t, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7xui32>)
  %8:2 = stablehlo.optimization_barrier %x, %i : tensor<2x3xf32>, tensor<i32>
  %9 = stablehlo.dynamic_broadcast_in_dim %m, %n, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>} : (tensor<3x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %10 = stablehlo.tuple %x, %i : tuple<tensor<2x3xf32>, tensor<i32>>
  %11 = stablehlo.get_tuple_element %10[0] : (tuple<tensor<2x3xf32>, tensor<i32>>) -> tensor<2x3xf32>
  %12 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %13 = stablehlo.create_token : !stablehlo.token
  return
}
