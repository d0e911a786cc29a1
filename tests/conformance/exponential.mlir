// e to the power of a number.
func.func @main() -> (tensor<5xf32>, tensor<1xcomplex<f64>>, tensor<1xbf16>) {
  %0 = stablehlo.constant dense<[0.0, 1.0, -1.0, 200.0, 0xFF800000]> : tensor<5xf32>
  %1 = "stablehlo.exponential"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  %2 = stablehlo.constant dense<[(0.0, 1.5707963267948966)]> : tensor<1xcomplex<f64>>
  %3 = "stablehlo.exponential"(%2) : (tensor<1xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  %4 = stablehlo.constant dense<[1.0]> : tensor<1xbf16>
  %5 = "stablehlo.exponential"(%4) : (tensor<1xbf16>) -> tensor<1xbf16>
  return %1, %3, %5 : tensor<5xf32>, tensor<1xcomplex<f64>>, tensor<1xbf16>
}
func.func @expected() -> (tensor<5xf32> {check.ulps = 1 : i64}, tensor<1xcomplex<f64>> {check.ulps = 2 : i64}, tensor<1xbf16>) {
  %0 = stablehlo.constant dense<[1.0, 2.7182817, 0.36787945, 0x7F800000, 0.0]> : tensor<5xf32>
  %1 = stablehlo.constant dense<[(6.123233995736766e-17, 1.0)]> : tensor<1xcomplex<f64>>
  %2 = stablehlo.constant dense<[2.71875]> : tensor<1xbf16>
  return %0, %1, %2 : tensor<5xf32>, tensor<1xcomplex<f64>>, tensor<1xbf16>
}
