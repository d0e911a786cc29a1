func.func @main(%n: tensor<i32>, %p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %1, %v : tensor<i32>, tensor<4xf32>
  }
  %2 = "stablehlo.if"(%p) ({
    stablehlo.return %0#1 : tensor<4xf32>
  }, {
    %3 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %4 = "stablehlo.case"(%n) ({
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
