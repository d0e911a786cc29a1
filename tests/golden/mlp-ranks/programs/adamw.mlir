module @jit_adamw attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x5xf32> {warpforge.name = "up.weight"}, %arg1: tensor<6xf32> {warpforge.name = "up.bias"}, %arg2: tensor<3x6xf32> {warpforge.name = "down.weight"}, %arg3: tensor<3xf32> {warpforge.name = "down.bias"}, %arg4: tensor<6x5xf32> {warpforge.name = "up.weight"}, %arg5: tensor<6xf32> {warpforge.name = "up.bias"}, %arg6: tensor<3x6xf32> {warpforge.name = "down.weight"}, %arg7: tensor<3xf32> {warpforge.name = "down.bias"}, %arg8: tensor<f32> {warpforge.name = "step"}, %arg9: tensor<6x5xf32> {warpforge.name = "up.weight.exp_avg"}, %arg10: tensor<6x5xf32> {warpforge.name = "up.weight.exp_avg_sq"}, %arg11: tensor<6xf32> {warpforge.name = "up.bias.exp_avg"}, %arg12: tensor<6xf32> {warpforge.name = "up.bias.exp_avg_sq"}, %arg13: tensor<3x6xf32> {warpforge.name = "down.weight.exp_avg"}, %arg14: tensor<3x6xf32> {warpforge.name = "down.weight.exp_avg_sq"}, %arg15: tensor<3xf32> {warpforge.name = "down.bias.exp_avg"}, %arg16: tensor<3xf32> {warpforge.name = "down.bias.exp_avg_sq"}, %arg17: tensor<f32> {warpforge.name = "learning_rate"}) -> (tensor<6x5xf32> {jax.result_info = "result['parameter']['up.weight']", warpforge.name = "up.weight"}, tensor<6xf32> {jax.result_info = "result['parameter']['up.bias']", warpforge.name = "up.bias"}, tensor<3x6xf32> {jax.result_info = "result['parameter']['down.weight']", warpforge.name = "down.weight"}, tensor<3xf32> {jax.result_info = "result['parameter']['down.bias']", warpforge.name = "down.bias"}, tensor<f32> {jax.result_info = "result['state']['step']", warpforge.name = "step"}, tensor<6x5xf32> {jax.result_info = "result['state']['up.weight.exp_avg']", warpforge.name = "up.weight.exp_avg"}, tensor<6x5xf32> {jax.result_info = "result['state']['up.weight.exp_avg_sq']", warpforge.name = "up.weight.exp_avg_sq"}, tensor<6xf32> {jax.result_info = "result['state']['up.bias.exp_avg']", warpforge.name = "up.bias.exp_avg"}, tensor<6xf32> {jax.result_info = "result['state']['up.bias.exp_avg_sq']", warpforge.name = "up.bias.exp_avg_sq"}, tensor<3x6xf32> {jax.result_info = "result['state']['down.weight.exp_avg']", warpforge.name = "down.weight.exp_avg"}, tensor<3x6xf32> {jax.result_info = "result['state']['down.weight.exp_avg_sq']", warpforge.name = "down.weight.exp_avg_sq"}, tensor<3xf32> {jax.result_info = "result['state']['down.bias.exp_avg']", warpforge.name = "down.bias.exp_avg"}, tensor<3xf32> {jax.result_info = "result['state']['down.bias.exp_avg_sq']", warpforge.name = "down.bias.exp_avg_sq"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.add %arg8, %cst : tensor<f32>
    %cst_0 = stablehlo.constant dense<-0.105360515> : tensor<f32>
    %1 = stablehlo.multiply %0, %cst_0 : tensor<f32>
    %2 = stablehlo.exponential_minus_one %1 : tensor<f32>
    %3 = stablehlo.negate %2 : tensor<f32>
    %cst_1 = stablehlo.constant dense<-0.00100050028> : tensor<f32>
    %4 = stablehlo.multiply %0, %cst_1 : tensor<f32>
    %5 = stablehlo.exponential_minus_one %4 : tensor<f32>
    %6 = stablehlo.negate %5 : tensor<f32>
    %cst_2 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %7 = stablehlo.multiply %arg17, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %8 = stablehlo.subtract %cst_3, %7 : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %10 = stablehlo.multiply %arg0, %9 : tensor<6x5xf32>
    %11 = stablehlo.subtract %arg4, %arg9 : tensor<6x5xf32>
    %cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %13 = stablehlo.multiply %11, %12 : tensor<6x5xf32>
    %14 = stablehlo.add %arg9, %13 : tensor<6x5xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %16 = stablehlo.multiply %arg10, %15 : tensor<6x5xf32>
    %17 = stablehlo.multiply %arg4, %arg4 : tensor<6x5xf32>
    %cst_6 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %19 = stablehlo.multiply %17, %18 : tensor<6x5xf32>
    %20 = stablehlo.add %16, %19 : tensor<6x5xf32>
    %21 = stablehlo.sqrt %20 : tensor<6x5xf32>
    %22 = stablehlo.sqrt %6 : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %24 = stablehlo.divide %21, %23 : tensor<6x5xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %26 = stablehlo.add %24, %25 : tensor<6x5xf32>
    %27 = stablehlo.divide %arg17, %3 : tensor<f32>
    %28 = stablehlo.divide %14, %26 : tensor<6x5xf32>
    %29 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %30 = stablehlo.multiply %29, %28 : tensor<6x5xf32>
    %31 = stablehlo.subtract %10, %30 : tensor<6x5xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %32 = stablehlo.multiply %arg17, %cst_8 : tensor<f32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.subtract %cst_9, %32 : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %35 = stablehlo.multiply %arg1, %34 : tensor<6xf32>
    %36 = stablehlo.subtract %arg5, %arg11 : tensor<6xf32>
    %cst_10 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %38 = stablehlo.multiply %36, %37 : tensor<6xf32>
    %39 = stablehlo.add %arg11, %38 : tensor<6xf32>
    %cst_11 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %41 = stablehlo.multiply %arg12, %40 : tensor<6xf32>
    %42 = stablehlo.multiply %arg5, %arg5 : tensor<6xf32>
    %cst_12 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %44 = stablehlo.multiply %42, %43 : tensor<6xf32>
    %45 = stablehlo.add %41, %44 : tensor<6xf32>
    %46 = stablehlo.sqrt %45 : tensor<6xf32>
    %47 = stablehlo.sqrt %6 : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %49 = stablehlo.divide %46, %48 : tensor<6xf32>
    %cst_13 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %51 = stablehlo.add %49, %50 : tensor<6xf32>
    %52 = stablehlo.divide %arg17, %3 : tensor<f32>
    %53 = stablehlo.divide %39, %51 : tensor<6xf32>
    %54 = stablehlo.broadcast_in_dim %52, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %55 = stablehlo.multiply %54, %53 : tensor<6xf32>
    %56 = stablehlo.subtract %35, %55 : tensor<6xf32>
    %cst_14 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %57 = stablehlo.multiply %arg17, %cst_14 : tensor<f32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %58 = stablehlo.subtract %cst_15, %57 : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %60 = stablehlo.multiply %arg2, %59 : tensor<3x6xf32>
    %61 = stablehlo.subtract %arg6, %arg13 : tensor<3x6xf32>
    %cst_16 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %63 = stablehlo.multiply %61, %62 : tensor<3x6xf32>
    %64 = stablehlo.add %arg13, %63 : tensor<3x6xf32>
    %cst_17 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %66 = stablehlo.multiply %arg14, %65 : tensor<3x6xf32>
    %67 = stablehlo.multiply %arg6, %arg6 : tensor<3x6xf32>
    %cst_18 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %69 = stablehlo.multiply %67, %68 : tensor<3x6xf32>
    %70 = stablehlo.add %66, %69 : tensor<3x6xf32>
    %71 = stablehlo.sqrt %70 : tensor<3x6xf32>
    %72 = stablehlo.sqrt %6 : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %72, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %74 = stablehlo.divide %71, %73 : tensor<3x6xf32>
    %cst_19 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %76 = stablehlo.add %74, %75 : tensor<3x6xf32>
    %77 = stablehlo.divide %arg17, %3 : tensor<f32>
    %78 = stablehlo.divide %64, %76 : tensor<3x6xf32>
    %79 = stablehlo.broadcast_in_dim %77, dims = [] : (tensor<f32>) -> tensor<3x6xf32>
    %80 = stablehlo.multiply %79, %78 : tensor<3x6xf32>
    %81 = stablehlo.subtract %60, %80 : tensor<3x6xf32>
    %cst_20 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %82 = stablehlo.multiply %arg17, %cst_20 : tensor<f32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %83 = stablehlo.subtract %cst_21, %82 : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %83, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %85 = stablehlo.multiply %arg3, %84 : tensor<3xf32>
    %86 = stablehlo.subtract %arg7, %arg15 : tensor<3xf32>
    %cst_22 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %87 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %88 = stablehlo.multiply %86, %87 : tensor<3xf32>
    %89 = stablehlo.add %arg15, %88 : tensor<3xf32>
    %cst_23 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %90 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %91 = stablehlo.multiply %arg16, %90 : tensor<3xf32>
    %92 = stablehlo.multiply %arg7, %arg7 : tensor<3xf32>
    %cst_24 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %93 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %94 = stablehlo.multiply %92, %93 : tensor<3xf32>
    %95 = stablehlo.add %91, %94 : tensor<3xf32>
    %96 = stablehlo.sqrt %95 : tensor<3xf32>
    %97 = stablehlo.sqrt %6 : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %99 = stablehlo.divide %96, %98 : tensor<3xf32>
    %cst_25 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %100 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %101 = stablehlo.add %99, %100 : tensor<3xf32>
    %102 = stablehlo.divide %arg17, %3 : tensor<f32>
    %103 = stablehlo.divide %89, %101 : tensor<3xf32>
    %104 = stablehlo.broadcast_in_dim %102, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %105 = stablehlo.multiply %104, %103 : tensor<3xf32>
    %106 = stablehlo.subtract %85, %105 : tensor<3xf32>
    return %31, %56, %81, %106, %0, %14, %20, %39, %45, %64, %70, %89, %95 : tensor<6x5xf32>, tensor<6xf32>, tensor<3x6xf32>, tensor<3xf32>, tensor<f32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
