module @"a name" attributes {"quoted key" = "\C3\BC", e = 1.0e+300 : f64, n = 0x7FF8000000000000 : f64, i = -1 : i64} {
  func.func private @"f.g$h"(%arg_0.x: tensor<f64>) -> tensor<f64> {
    return %arg_0.x : tensor<f64>
  }
  func.func public @main(%a-b: tensor<f64>) -> tensor<f64> {
    %0 = call @"f.g$h"(%a-b) : (tensor<f64>) -> tensor<f64>
    return %0 : tensor<f64>
  }
}
