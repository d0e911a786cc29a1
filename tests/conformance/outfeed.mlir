// What the host is given, in its order. @outfeed0 and @outfeed1 are what it must have been given.
func.func @main() -> (tensor<i32>) {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<3> : tensor<i32>
  %t = stablehlo.create_token : !stablehlo.token
  %u = "stablehlo.outfeed"(%a, %b, %t) <{outfeed_config = ""}> : (tensor<2xi32>, tensor<i32>, !stablehlo.token) -> !stablehlo.token
  %v = "stablehlo.outfeed"(%b, %u) <{outfeed_config = ""}> : (tensor<i32>, !stablehlo.token) -> !stablehlo.token
  return %b : tensor<i32>
}
func.func @outfeed0() -> (tensor<2xi32>, tensor<i32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<3> : tensor<i32>
  return %0, %1 : tensor<2xi32>, tensor<i32>
}
func.func @outfeed1() -> (tensor<i32>) {
  %0 = stablehlo.constant dense<3> : tensor<i32>
  return %0 : tensor<i32>
}
func.func @expected() -> (tensor<i32>) {
  %0 = stablehlo.constant dense<3> : tensor<i32>
  return %0 : tensor<i32>
}
