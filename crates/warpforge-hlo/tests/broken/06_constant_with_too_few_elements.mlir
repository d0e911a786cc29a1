module @jit_table {
  func.func public @main() -> tensor<2x3xi32> {
    %c = stablehlo.constant dense<[[1, 2, 3], [4, 5]]> : tensor<2x3xi32>
    return %c : tensor<2x3xi32>
  }
}
