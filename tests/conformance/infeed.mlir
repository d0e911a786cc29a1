// What the host has ready, in its order. @infeed0 and @infeed1 are what it has.
func.func @main() -> (tensor<2xi32>, tensor<2xi32>, tensor<f32>) {
  %t = stablehlo.create_token : !stablehlo.token
  %0, %u = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  %1:3 = "stablehlo.infeed"(%u) <{infeed_config = "", layout = [[0], []]}> : (!stablehlo.token) -> (tensor<2xi32>, tensor<f32>, !stablehlo.token)
  return %0, %1#0, %1#1 : tensor<2xi32>, tensor<2xi32>, tensor<f32>
}
func.func @infeed0() -> (tensor<2xi32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  return %0 : tensor<2xi32>
}
func.func @infeed1() -> (tensor<2xi32>, tensor<f32>) {
  %0 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %1 = stablehlo.constant dense<5.0> : tensor<f32>
  return %0, %1 : tensor<2xi32>, tensor<f32>
}
func.func @expected() -> (tensor<2xi32>, tensor<2xi32>, tensor<f32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %2 = stablehlo.constant dense<5.0> : tensor<f32>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<f32>
}
