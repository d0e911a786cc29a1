#loc = loc(unknown)
func.func @main(%x: tensor<f32> loc("x"(#loc2))) -> tensor<f32> {
  %0 = stablehlo.negate %x : tensor<f32> loc(#loc3)
  return %0 : tensor<f32> loc(fused[#loc2, #loc3])
} loc(#loc)
#loc2 = loc("model.py":3:4)
#loc3 = loc(callsite(#loc2 at "main"("outer"(#loc))))
