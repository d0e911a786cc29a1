// Batches, contracted dimensions that are not the last, and a wider result.
func.func @main() -> (tensor<2x2x2xi32>, tensor<2x2xi1>) {
  %a = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi8>
  %b = stablehlo.constant dense<[[[1, 0], [0, 1]], [[100, 0], [0, 100]]]> : tensor<2x2x2xi8>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x2x2xi8>, tensor<2x2x2xi8>) -> tensor<2x2x2xi32>
  %c = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  %1 = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<2x2xi1>, tensor<2x2xi1>) -> tensor<2x2xi1>
  return %0, %1 : tensor<2x2x2xi32>, tensor<2x2xi1>
}
func.func @expected() -> (tensor<2x2x2xi32>, tensor<2x2xi1>) {
  %0 = stablehlo.constant dense<[[[1, 3], [2, 4]], [[500, 700], [600, 800]]]> : tensor<2x2x2xi32>
  %1 = stablehlo.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1>
  return %0, %1 : tensor<2x2x2xi32>, tensor<2x2xi1>
}
