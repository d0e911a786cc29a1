func.func @main() {
  %0 = stablehlo.constant dense<[[1.0, -2.5e-3], [0x7FC0000000000000, 4.0]]> : tensor<2x2xf64>
  %1 = stablehlo.constant dense<"0x000102FF"> : tensor<4xui2>
  %2 = stablehlo.constant dense<true> : tensor<3xi1>
  %3 = stablehlo.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f32>>
  %4 = stablehlo.constant dense<> : tensor<0x3xi64>
  %5 = stablehlo.constant {tag = 1 : i8} dense<-8> : tensor<i4>
  %6 = stablehlo.constant dense<[0.5, 896.0]> : tensor<2xf8E4M3FN>
  %7 = stablehlo.constant() <{value = dense<7> : tensor<i32>}> : () -> tensor<i32>
  return
}
