func.func @main(%row: tensor<1x40xi32>, %x: tensor<40x40xf32>, %few: tensor<4xf32>) -> (tensor<40x40xf32>, tensor<4x3xf32>) {
  // A mask of a row, for every row.
  %zero = stablehlo.constant dense<0> : tensor<40x40xi32>
  %none = stablehlo.constant dense<-9.0> : tensor<40x40xf32>
  %all = stablehlo.constant dense<0.0> : tensor<40x40xf32>
  %spread = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x40xi32>) -> tensor<40x40xi32>
  %there = stablehlo.compare GT, %spread, %zero : (tensor<40x40xi32>, tensor<40x40xi32>) -> tensor<40x40xi1>
  %not = stablehlo.not %there : tensor<40x40xi1>
  %mask = stablehlo.select %not, %none, %all : (tensor<40x40xi1>, tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %sum = stablehlo.add %x, %mask : tensor<40x40xf32>
  // Too little to be worth a kernel more.
  %little = stablehlo.broadcast_in_dim %few, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
  %tanh = stablehlo.tanh %little : tensor<4x3xf32>
  return %sum, %tanh : tensor<40x40xf32>, tensor<4x3xf32>
}
