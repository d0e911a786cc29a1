// Sums over a dimension, a product over all, and two results at once: the largest and where it is.
func.func @main() -> (tensor<2xf32>, tensor<f32>, tensor<i32>, tensor<i32>) {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %o = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.reduce(%a init: %o) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %v = stablehlo.constant dense<[3, 7, 7, 1]> : tensor<4xi32>
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %m = stablehlo.constant dense<-2147483648> : tensor<i32>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %2:2 = stablehlo.reduce(%v init: %m), (%i init: %n) across dimensions = [0] : (tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    reducer(%x: tensor<i32>, %y: tensor<i32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %c = stablehlo.compare GE, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %l = stablehlo.select %c, %x, %y : tensor<i1>, tensor<i32>
    %w = stablehlo.select %c, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %l, %w : tensor<i32>, tensor<i32>
  }
  return %0, %1, %2#0, %2#1 : tensor<2xf32>, tensor<f32>, tensor<i32>, tensor<i32>
}
func.func @expected() -> (tensor<2xf32>, tensor<f32>, tensor<i32>, tensor<i32>) {
  %0 = stablehlo.constant dense<[6.0, 15.0]> : tensor<2xf32>
  %1 = stablehlo.constant dense<720.0> : tensor<f32>
  %2 = stablehlo.constant dense<7> : tensor<i32>
  %3 = stablehlo.constant dense<1> : tensor<i32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<f32>, tensor<i32>, tensor<i32>
}
