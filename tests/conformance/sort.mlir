// Two tensors by the first, equal ones in their order.
func.func @main() -> (tensor<4xi32>, tensor<4xi32>) {
  %k = stablehlo.constant dense<[3, 1, 3, 2]> : tensor<4xi32>
  %v = stablehlo.constant dense<[10, 20, 30, 40]> : tensor<4xi32>
  %0:2 = "stablehlo.sort"(%k, %v) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %0#0, %0#1 : tensor<4xi32>, tensor<4xi32>
}
func.func @expected() -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.constant dense<[3, 3, 2, 1]> : tensor<4xi32>
  %1 = stablehlo.constant dense<[10, 30, 40, 20]> : tensor<4xi32>
  return %0, %1 : tensor<4xi32>, tensor<4xi32>
}
