module {
  func.func public @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<2x3x4xbf16>, %arg4: tensor<4xbf16>, %arg5: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xbf16>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%arg0 init: %0) across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
     reducer(%arg6: tensor<f32>, %arg7: tensor<f32>) {
      %1 = stablehlo.add %arg6, %arg7 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
    %3 = stablehlo.constant dense<8.000000e+00> : tensor<3xf32>
    %4 = stablehlo.divide %2, %3 : tensor<3xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %6 = stablehlo.subtract %arg0, %5 : tensor<2x3x4xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<2x3x4xf32>
    %8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%7 init: %8) across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
     reducer(%arg8: tensor<f32>, %arg9: tensor<f32>) {
      %9 = stablehlo.add %arg8, %arg9 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }
    %11 = stablehlo.constant dense<8.000000e+00> : tensor<3xf32>
    %12 = stablehlo.divide %10, %11 : tensor<3xf32>
    %13 = stablehlo.constant dense<1.000000e-05> : tensor<3xf32>
    %14 = stablehlo.add %12, %13 : tensor<3xf32>
    %15 = stablehlo.sqrt %14 : tensor<3xf32>
    %16 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %17 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %18 = stablehlo.subtract %arg0, %16 : tensor<2x3x4xf32>
    %19 = stablehlo.divide %18, %17 : tensor<2x3x4xf32>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %21 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %22 = stablehlo.multiply %19, %20 : tensor<2x3x4xf32>
    %23 = stablehlo.add %22, %21 : tensor<2x3x4xf32>
    %24 = stablehlo.abs %arg4 : tensor<4xbf16>
    %25 = stablehlo.convert %arg3 : (tensor<2x3x4xbf16>) -> tensor<2x3x4xf32>
    %26 = stablehlo.convert %arg4 : (tensor<4xbf16>) -> tensor<4xf32>
    %27 = stablehlo.convert %arg4 : (tensor<4xbf16>) -> tensor<4xf32>
    %28 = stablehlo.convert %arg4 : (tensor<4xbf16>) -> tensor<4xf32>
    %29 = stablehlo.convert %24 : (tensor<4xbf16>) -> tensor<4xf32>
    %30 = stablehlo.constant dense<1.000000e-01> : tensor<4xf32>
    %31 = stablehlo.add %29, %30 : tensor<4xf32>
    %32 = stablehlo.sqrt %31 : tensor<4xf32>
    %33 = stablehlo.broadcast_in_dim %28, dims = [2] : (tensor<4xf32>) -> tensor<2x3x4xf32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [2] : (tensor<4xf32>) -> tensor<2x3x4xf32>
    %35 = stablehlo.subtract %25, %33 : tensor<2x3x4xf32>
    %36 = stablehlo.divide %35, %34 : tensor<2x3x4xf32>
    %37 = stablehlo.broadcast_in_dim %26, dims = [2] : (tensor<4xf32>) -> tensor<2x3x4xf32>
    %38 = stablehlo.broadcast_in_dim %27, dims = [2] : (tensor<4xf32>) -> tensor<2x3x4xf32>
    %39 = stablehlo.multiply %36, %37 : tensor<2x3x4xf32>
    %40 = stablehlo.add %39, %38 : tensor<2x3x4xf32>
    %41 = stablehlo.convert %40 : (tensor<2x3x4xf32>) -> tensor<2x3x4xbf16>
    %42 = stablehlo.constant dense<1.000000e-05> : tensor<3xf32>
    %43 = stablehlo.add %12, %42 : tensor<3xf32>
    %44 = stablehlo.sqrt %43 : tensor<3xf32>
    %45 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %46 = stablehlo.subtract %arg0, %45 : tensor<2x3x4xf32>
    %47 = stablehlo.multiply %arg5, %46 : tensor<2x3x4xf32>
    %48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %50 = stablehlo.reduce(%arg5 init: %48) across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
     reducer(%arg10: tensor<f32>, %arg11: tensor<f32>) {
      %49 = stablehlo.add %arg10, %arg11 : tensor<f32>
      stablehlo.return %49 : tensor<f32>
    }
    %51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53 = stablehlo.reduce(%47 init: %51) across dimensions = [0, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>
     reducer(%arg12: tensor<f32>, %arg13: tensor<f32>) {
      %52 = stablehlo.add %arg12, %arg13 : tensor<f32>
      stablehlo.return %52 : tensor<f32>
    }
    %54 = stablehlo.divide %53, %44 : tensor<3xf32>
    %55 = stablehlo.constant dense<8.000000e+00> : tensor<2x3x4xf32>
    %56 = stablehlo.multiply %arg5, %55 : tensor<2x3x4xf32>
    %57 = stablehlo.broadcast_in_dim %50, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %58 = stablehlo.subtract %56, %57 : tensor<2x3x4xf32>
    %59 = stablehlo.divide %54, %44 : tensor<3xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %61 = stablehlo.multiply %60, %46 : tensor<2x3x4xf32>
    %62 = stablehlo.subtract %58, %61 : tensor<2x3x4xf32>
    %63 = stablehlo.divide %arg1, %44 : tensor<3xf32>
    %64 = stablehlo.constant dense<8.000000e+00> : tensor<3xf32>
    %65 = stablehlo.divide %63, %64 : tensor<3xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [1] : (tensor<3xf32>) -> tensor<2x3x4xf32>
    %67 = stablehlo.multiply %66, %62 : tensor<2x3x4xf32>
    return %23, %4, %12, %41, %67, %54, %50 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xbf16>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
