// The branch of the index; the last one where there is none.
func.func @main() -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %far = stablehlo.constant dense<7> : tensor<i32>
  %neg = stablehlo.constant dense<-1> : tensor<i32>
  %a = stablehlo.constant dense<10> : tensor<i64>
  %0 = "stablehlo.case"(%one) ({
    stablehlo.return %a : tensor<i64>
  }, {
    %x = stablehlo.add %a, %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }, {
    %x = stablehlo.negate %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  %1 = "stablehlo.case"(%far) ({
    stablehlo.return %a : tensor<i64>
  }, {
    %x = stablehlo.add %a, %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }, {
    %x = stablehlo.negate %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  %2 = "stablehlo.case"(%neg) ({
    stablehlo.return %a : tensor<i64>
  }, {
    %x = stablehlo.add %a, %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }, {
    %x = stablehlo.negate %a : tensor<i64>
    stablehlo.return %x : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  return %0, %1, %2 : tensor<i64>, tensor<i64>, tensor<i64>
}
func.func @expected() -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %0 = stablehlo.constant dense<20> : tensor<i64>
  %1 = stablehlo.constant dense<-10> : tensor<i64>
  %2 = stablehlo.constant dense<-10> : tensor<i64>
  return %0, %1, %2 : tensor<i64>, tensor<i64>, tensor<i64>
}
