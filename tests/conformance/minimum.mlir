// The smaller; NaN wins, and negative zero is smaller than zero.
func.func @main() -> (tensor<2xi8>, tensor<2xui8>, tensor<2xi1>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<[-1, 5]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %2 = "stablehlo.minimum"(%0, %1) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %3 = stablehlo.constant dense<[255, 0]> : tensor<2xui8>
  %4 = stablehlo.constant dense<[1, 2]> : tensor<2xui8>
  %5 = "stablehlo.minimum"(%3, %4) : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %6 = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %7 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %8 = "stablehlo.minimum"(%6, %7) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %9 = stablehlo.constant dense<[1.0, 0x7FC00000, -0.0, 0.0]> : tensor<4xf32>
  %10 = stablehlo.constant dense<[2.0, 1.0, 0.0, -0.0]> : tensor<4xf32>
  %11 = "stablehlo.minimum"(%9, %10) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %5, %8, %11 : tensor<2xi8>, tensor<2xui8>, tensor<2xi1>, tensor<4xf32>
}
func.func @expected() -> (tensor<2xi8>, tensor<2xui8>, tensor<2xi1>, tensor<4xf32>) {
  %0 = stablehlo.constant dense<[-1, 2]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[1, 0]> : tensor<2xui8>
  %2 = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %3 = stablehlo.constant dense<[1.0, 0x7FC00000, -0.0, -0.0]> : tensor<4xf32>
  return %0, %1, %2, %3 : tensor<2xi8>, tensor<2xui8>, tensor<2xi1>, tensor<4xf32>
}
