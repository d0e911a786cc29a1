// Calls whose meaning is known are computed.
func.func @main() -> (tensor<1x2xf32>, tensor<1x2xi32>) {
  %a = stablehlo.constant dense<[[1.0, 5.0, 3.0]]> : tensor<1x3xf32>
  %0:2 = stablehlo.custom_call @mhlo.topk(%a) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<1x3xf32>) -> (tensor<1x2xf32>, tensor<1x2xi32>)
  return %0#0, %0#1 : tensor<1x2xf32>, tensor<1x2xi32>
}
func.func @expected() -> (tensor<1x2xf32>, tensor<1x2xi32>) {
  %0 = stablehlo.constant dense<[[5.0, 3.0]]> : tensor<1x2xf32>
  %1 = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
  return %0, %1 : tensor<1x2xf32>, tensor<1x2xi32>
}
