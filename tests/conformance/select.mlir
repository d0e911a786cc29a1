// By element, and by one boolean for all.
func.func @main() -> (tensor<2xi32>, tensor<2xi32>) {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %q = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0 = stablehlo.select %p, %a, %b : tensor<2xi1>, tensor<2xi32>
  %1 = stablehlo.select %q, %a, %b : tensor<i1>, tensor<2xi32>
  return %0, %1 : tensor<2xi32>, tensor<2xi32>
}
func.func @expected() -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  return %0, %1 : tensor<2xi32>, tensor<2xi32>
}
