// A function calls another, twice.
func.func @main() -> (tensor<i32>, tensor<i32>) {
  %0 = stablehlo.constant dense<5> : tensor<i32>
  %1:2 = call @both(%0, %0) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %2:2 = call @both(%1#0, %1#1) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %2#0, %2#1 : tensor<i32>, tensor<i32>
}
func.func private @both(%x: tensor<i32>, %y: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %0 = stablehlo.add %x, %y : tensor<i32>
  %1 = stablehlo.subtract %x, %y : tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}
func.func @expected() -> (tensor<i32>, tensor<i32>) {
  %0 = stablehlo.constant dense<10> : tensor<i32>
  return %0, %0 : tensor<i32>, tensor<i32>
}
