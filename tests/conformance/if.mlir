// One of two branches, with the values around it in sight.
func.func @main() -> (tensor<i64>, tensor<i64>) {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<3> : tensor<i64>
  %0 = "stablehlo.if"(%t) ({
    stablehlo.return %a : tensor<i64>
  }, {
    %x = stablehlo.negate %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }) : (tensor<i1>) -> tensor<i64>
  %1 = "stablehlo.if"(%f) ({
    stablehlo.return %a : tensor<i64>
  }, {
    %x = stablehlo.negate %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }) : (tensor<i1>) -> tensor<i64>
  return %0, %1 : tensor<i64>, tensor<i64>
}
func.func @expected() -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.constant dense<3> : tensor<i64>
  %1 = stablehlo.constant dense<-3> : tensor<i64>
  return %0, %1 : tensor<i64>, tensor<i64>
}
