// A sharding that does not fit its mesh is an error that names it, before anything is cut by it.
// RUN: split-file %s %t
// RUN: not tenon-opt --plan --partitions 2 %t/part_of_nothing.mlir 2>&1 | FileCheck %t/part_of_nothing.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/negative_part.mlir 2>&1 | FileCheck %t/negative_part.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/part_that_does_not_divide.mlir 2>&1 | FileCheck %t/part_that_does_not_divide.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/parts_that_overlap.mlir 2>&1 | FileCheck %t/parts_that_overlap.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/twice_in_a_dim.mlir 2>&1 | FileCheck %t/twice_in_a_dim.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/in_two_dims.mlir 2>&1 | FileCheck %t/in_two_dims.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/cut_and_partial.mlir 2>&1 | FileCheck %t/cut_and_partial.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/unknown_axis.mlir 2>&1 | FileCheck %t/unknown_axis.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/unknown_mesh.mlir 2>&1 | FileCheck %t/unknown_mesh.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/axes_of_one_name.mlir 2>&1 | FileCheck %t/axes_of_one_name.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/a_device_twice.mlir 2>&1 | FileCheck %t/a_device_twice.mlir
// RUN: not tenon-opt --plan --partitions 2 %t/a_device_twice_in_a_list.mlir 2>&1 | FileCheck %t/a_device_twice_in_a_list.mlir
// RUN: not tenon-opt --plan --partitions 2 --replicas 2 %t/a_cut_result_of_replicas.mlir 2>&1 | FileCheck %t/a_cut_result_of_replicas.mlir

//--- part_of_nothing.mlir
// CHECK: func.func: a sharding: 'x':(1)0 is no part of an axis of size 2
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)0}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- negative_part.mlir
// CHECK: func.func: a sharding: 'x':(1)-2 is no part of an axis of size 2
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)-2}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- part_that_does_not_divide.mlir
// CHECK: func.func: a sharding: 'x':(1)3 is no part of an axis of size 4
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}]>}) -> tensor<6xf32> {
  return %a : tensor<6xf32>
}
//--- parts_that_overlap.mlir
// CHECK: func.func: a sharding: 'x':(2)4 is used beside 'x':(1)4
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)4}, {"x":(2)4}]>}) -> tensor<8x8xf32> {
  return %a : tensor<8x8xf32>
}
//--- twice_in_a_dim.mlir
// CHECK: func.func: a sharding: 'x' is used beside 'x'
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "x"}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- in_two_dims.mlir
// CHECK: func.func: a sharding: 'x' is used beside 'x'
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  return %a : tensor<4x4xf32>
}
//--- cut_and_partial.mlir
// CHECK: func.func: a sharding: 'x' is used beside 'x'
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"x"}>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- unknown_axis.mlir
// CHECK: sdy.sharding_constraint: a sharding: the mesh has no axis 'y'
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{"y"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- unknown_mesh.mlir
// CHECK: sdy.manual_computation: a sharding: no mesh is called 'other'
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@other, [{"x"}]>] out_shardings=[<@other, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    sdy.return %b : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- axes_of_one_name.mlir
// CHECK: has two axes of the name 'x'
sdy.mesh @mesh = <["x"=2, "x"=1]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- a_device_twice.mlir
// CHECK: func.func: a sharding: its mesh has device ids that are no permutation
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2], device_ids=[0, 0]>, [{"x"}]>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- a_device_twice_in_a_list.mlir
// CHECK: has device ids that are no permutation
func.func @main(%a: tensor<4xf32> {mhlo.sharding = "{devices=[2]0,0}"}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
//--- a_cut_result_of_replicas.mlir
// CHECK: replicas and sharded partitions in one program
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return %a : tensor<4xf32>
}
