// From an index that is moved until the slice fits.
func.func @main() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %i = stablehlo.constant dense<1> : tensor<i64>
  %j = stablehlo.constant dense<9> : tensor<i64>
  %k = stablehlo.constant dense<-3> : tensor<i64>
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<4xi32>, tensor<i64>) -> tensor<2xi32>
  %1 = stablehlo.dynamic_slice %a, %j, sizes = [2] : (tensor<4xi32>, tensor<i64>) -> tensor<2xi32>
  %2 = stablehlo.dynamic_slice %a, %k, sizes = [2] : (tensor<4xi32>, tensor<i64>) -> tensor<2xi32>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}
func.func @expected() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %0 = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %2 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}
