// Largest of pairs with padding, and sums of dilated windows.
func.func @main() -> (tensor<2xi32>, tensor<5xi32>) {
  %a = stablehlo.constant dense<[1, 5, 2, 4]> : tensor<4xi32>
  %m = stablehlo.constant dense<-100> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %m) <{padding = dense<[[1, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.maximum %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
  %1 = "stablehlo.reduce_window"(%a, %z) <{base_dilations = array<i64: 2>, window_dilations = array<i64: 2>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<5xi32>
  return %0, %1 : tensor<2xi32>, tensor<5xi32>
}
func.func @expected() -> (tensor<2xi32>, tensor<5xi32>) {
  %0 = stablehlo.constant dense<[1, 5]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[6, 0, 7, 0, 6]> : tensor<5xi32>
  return %0, %1 : tensor<2xi32>, tensor<5xi32>
}
