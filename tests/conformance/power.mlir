// Integers wrap, and to a negative power they are 0, 1 or -1; floats as in IEEE 754.
func.func @main() -> (tensor<5xi8>, tensor<5xf32>) {
  %0 = stablehlo.constant dense<[3, 2, 2, -1, 1]> : tensor<5xi8>
  %1 = stablehlo.constant dense<[2, 7, -1, -3, -5]> : tensor<5xi8>
  %2 = "stablehlo.power"(%0, %1) : (tensor<5xi8>, tensor<5xi8>) -> tensor<5xi8>
  %3 = stablehlo.constant dense<[2.0, -2.0, 0.0, -1.0, 5.0]> : tensor<5xf32>
  %4 = stablehlo.constant dense<[0.5, 3.0, -1.0, 0.5, 0.0]> : tensor<5xf32>
  %5 = "stablehlo.power"(%3, %4) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return %2, %5 : tensor<5xi8>, tensor<5xf32>
}
func.func @expected() -> (tensor<5xi8>, tensor<5xf32> {check.ulps = 1 : i64}) {
  %0 = stablehlo.constant dense<[9, -128, 0, -1, 1]> : tensor<5xi8>
  %1 = stablehlo.constant dense<[1.4142135, -8.0, 0x7F800000, 0x7FC00000, 1.0]> : tensor<5xf32>
  return %0, %1 : tensor<5xi8>, tensor<5xf32>
}
