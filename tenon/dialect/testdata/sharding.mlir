module @sharding attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  sdy.mesh @swapped = <["a"=2], device_ids=[1, 0]>
  sdy.mesh @one = <[], device_ids=[3]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", ?}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {?}p1], replicated={"y"}>}) {
    %0 = sdy.sharding_constraint %x <@mesh, [{"x", "y"}, {}]> : tensor<8x4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg: tensor<4x4xf32>) {
      %2 = stablehlo.add %arg, %arg : tensor<4x4xf32>
      sdy.return %2 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %3 = "stablehlo.custom_call"(%1) {call_target_name = "f", sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, *]) {i=8, j=2, k=2} reduction={j} need_replication={k}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %4 = stablehlo.negate %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], unreduced=max{"y"}>]>} : tensor<8x4xf32>
    return %4 : tensor<8x4xf32>
  }
}
