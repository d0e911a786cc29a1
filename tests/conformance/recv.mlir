// Twice from itself, in the order it was sent.
func.func @main() -> (tensor<2xi32>, tensor<2xi32>) {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %t = stablehlo.create_token : !stablehlo.token
  %u = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
  %v = "stablehlo.send"(%b, %u) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
  %0, %w = "stablehlo.recv"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  %1, %x = "stablehlo.recv"(%w) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  return %0, %1 : tensor<2xi32>, tensor<2xi32>
}
func.func @expected() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  return %0, %1 : tensor<2xi32>, tensor<2xi32>
}
