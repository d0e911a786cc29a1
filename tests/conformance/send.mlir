// To itself it comes, and it does not wait.
func.func @main() -> (tensor<2xi32>) {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %t = stablehlo.create_token : !stablehlo.token
  %u = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
  %0, %v = "stablehlo.recv"(%u) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  return %0 : tensor<2xi32>
}
func.func @expected() -> (tensor<2xi32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  return %0 : tensor<2xi32>
}
