#shared = {a = 1 : i64, b = [true, unit, "text\n\22\00"]}
!pair = tuple<tensor<f32>, !stablehlo.token>
#loc1 = loc("model.py":10:3 to 11:4)
module @seed attributes {mhlo.num_replicas = 1 : i32, x = #shared, y = array<i64: 1, -2>, z = array<f32: 1.5>, w = array<i1: true>} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<2x?xf32, #stablehlo.bounds<?, 8>> {jax.arg_info = "x"} loc("x"), %arg1: !pair) -> (tensor<2x?xf32> {jax.result_info = "r"}) attributes {k} {
    // A comment.
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<2x?xf32, #stablehlo.bounds<?, 8>>
    %1 = "stablehlo.get_tuple_element"(%arg1) <{index = 0 : i32}> {note = @a::@b} : (!pair) -> tensor<f32> loc(#loc1)
    return %arg0 : tensor<2x?xf32, #stablehlo.bounds<?, 8>> loc(callsite(#loc1 at fused<"m">[#loc1, "n"(unknown)]))
  } loc(unknown)
}
