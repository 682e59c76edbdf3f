// RUN: tenon-opt %s | FileCheck %s
// RUN: tenon-opt --generic %s | tenon-opt | FileCheck %s
// RUN: tenon-opt --emit-bytecode 1.16.3 %s > %t.bc
// RUN: tenon-opt %t.bc | FileCheck %s

// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK: sdy.mesh @swapped = <["a"=2], device_ids=[1, 0]>
sdy.mesh @swapped = <["a"=2], device_ids=[1, 0]>
// CHECK: sdy.mesh @one = <[], device_ids=[3]>
sdy.mesh @one = <[], device_ids=[3]>
// CHECK: sdy.mesh @none = <[]>
sdy.mesh @none = <[]>

// CHECK: func.func @constraint(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"y", ?}p1]>})
func.func @constraint(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"y", ?}p1]>}) -> tensor<8x4xf32> {
  // CHECK: sdy.sharding_constraint %arg0 <@mesh, [{?}, {}], replicated={"x"}, unreduced=max{"y"}> : tensor<8x4xf32>
  %0 = sdy.sharding_constraint %x <@mesh, [{?}, {}], replicated={"x"}, unreduced=max{"y"}> : tensor<8x4xf32>
  // CHECK: sdy.sharding_constraint %0 <mesh<["z"=3]>, [{}, {}]> : tensor<8x4xf32>
  %1 = sdy.sharding_constraint %0 <mesh<["z"=3]>, [{}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.sharding_group %1 group_id=7 : tensor<8x4xf32>
  sdy.sharding_group %1 group_id=7 : tensor<8x4xf32>
  // CHECK: sdy.propagation_barrier %1 allowed_direction={{ ?}}FORWARD : tensor<8x4xf32>
  %2 = sdy.propagation_barrier %1 allowed_direction=FORWARD : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

func.func @manual(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {?}]>] out_shardings=[<@mesh, [{"x"}, {?}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {?}]>] out_shardings=[<@mesh, [{"x"}, {?}]>] manual_axes={"x"} (%a: tensor<4x4xf32>) {
    // CHECK: sdy.return
    sdy.return %a : tensor<4x4xf32>
  // CHECK: } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.named_computation<"f">(%0) in_shardings=[<@mesh, [{}, {}]>] (%arg1: tensor<8x4xf32>) {
  %1 = sdy.named_computation<"f">(%0) in_shardings=[<@mesh, [{}, {}]>] (%b: tensor<8x4xf32>) {
    sdy.return %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

func.func @rules(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, *]) {i=8, j=2, k=2} reduction={j} need_replication={k} blocked_propagation={i}, custom>
  %0 = "stablehlo.custom_call"(%x) {call_target_name = "f", sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, *]) {i=8, j=2, k=2} reduction={j} need_replication={k} blocked_propagation={i}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

func.func @collectives(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: sdy.all_gather [{"x"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %0 = sdy.all_gather [{"x"}, {}] %x out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.all_to_all [{"y"}: 0->1] %0 out_sharding=<@mesh, [{}, {"y"}]> : tensor<8x4xf32>
  %1 = sdy.all_to_all [{"y"}: 0->1] %0 out_sharding=<@mesh, [{}, {"y"}]> : tensor<8x4xf32>
  // CHECK: sdy.all_reduce max {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %2 = sdy.all_reduce max {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.collective_permute %2 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}
