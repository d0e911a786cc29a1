// Adds up the numbers below ten.
func.func @main() -> (tensor<i64>, tensor<i64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %ten = stablehlo.constant dense<10> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i64>, tensor<i64>
  cond {
    %c = stablehlo.compare LT, %i, %ten, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %sum, %i : tensor<i64>
    %up = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %up, %next : tensor<i64>, tensor<i64>
  }
  return %0#0, %0#1 : tensor<i64>, tensor<i64>
}
func.func @expected() -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.constant dense<10> : tensor<i64>
  %1 = stablehlo.constant dense<45> : tensor<i64>
  return %0, %1 : tensor<i64>, tensor<i64>
}
