// Adds each source where its window has the largest element.
func.func @main() -> (tensor<1x4xi32>) {
  %a = stablehlo.constant dense<[[1, 5, 2, 4]]> : tensor<1x4xi32>
  %s = stablehlo.constant dense<[[10, 20]]> : tensor<1x2xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %c = stablehlo.compare GE, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %t = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) : (tensor<1x4xi32>, tensor<1x2xi32>, tensor<i32>) -> tensor<1x4xi32>
  return %0 : tensor<1x4xi32>
}
func.func @expected() -> (tensor<1x4xi32>) {
  %0 = stablehlo.constant dense<[[0, 30, 0, 0]]> : tensor<1x4xi32>
  return %0 : tensor<1x4xi32>
}
