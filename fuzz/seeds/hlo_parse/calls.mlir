func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @target(%0) {backend_config = {k = "v"}, api_version = 4 : i32, called_computations = [@f], operand_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.composite "my.op" %0 {composite_attributes = {n = 1 : i64}, decomposition = @f, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = chlo.erf_inv %2 : tensor<4xf32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
