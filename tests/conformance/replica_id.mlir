// The first of the processes is number 0.
func.func @main() -> (tensor<ui32>) {
  %0 = stablehlo.replica_id : tensor<ui32>
  return %0 : tensor<ui32>
}
func.func @expected() -> (tensor<ui32>) {
  %0 = stablehlo.constant dense<0> : tensor<ui32>
  return %0 : tensor<ui32>
}
