module @jit_forward attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x5xf32> {warpforge.name = "up.weight"}, %arg1: tensor<6xf32> {warpforge.name = "up.bias"}, %arg2: tensor<3x6xf32> {warpforge.name = "down.weight"}, %arg3: tensor<3xf32> {warpforge.name = "down.bias"}, %arg4: tensor<4x5xf32> {warpforge.name = "input.x"}) -> (tensor<4x3xf32> {jax.result_info = "result['output']['output']", warpforge.name = "output"}) {
    %c = stablehlo.constant dense<1058297034> : tensor<i32>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %0 = stablehlo.shift_right_logical %c, %c_0 : tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %c_1 = stablehlo.constant dense<-1> : tensor<i32>
    %3 = stablehlo.and %c, %c_1 : tensor<i32>
    %4 = stablehlo.convert %3 : (tensor<i32>) -> tensor<ui32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %6 = stablehlo.concatenate %2, %5, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    %7 = stablehlo.dot_general %arg4, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x5xf32>, tensor<6x5xf32>) -> tensor<4x6xf32>
    %8 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<6xf32>) -> tensor<1x6xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<4x6xf32>
    %10 = stablehlo.add %7, %9 : tensor<4x6xf32>
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %12 = stablehlo.multiply %11, %10 : tensor<4x6xf32>
    %13 = stablehlo.negate %10 : tensor<4x6xf32>
    %cst_2 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %15 = stablehlo.multiply %13, %14 : tensor<4x6xf32>
    %16 = chlo.erfc %15 : tensor<4x6xf32> -> tensor<4x6xf32>
    %17 = stablehlo.multiply %12, %16 : tensor<4x6xf32>
    %18 = stablehlo.dot_general %17, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x6xf32>, tensor<3x6xf32>) -> tensor<4x3xf32>
    %19 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<4x3xf32>
    %21 = stablehlo.add %18, %20 : tensor<4x3xf32>
    return %21 : tensor<4x3xf32>
  }
}
