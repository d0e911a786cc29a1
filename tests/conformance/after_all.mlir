// An order between effects, of which there are none.
func.func @main() -> (tensor<i32>) {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  return %a : tensor<i32>
}
func.func @expected() -> (tensor<i32>) {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32>
}
