// Groups that are not written out may be of another size than an op's types are for.
// RUN: split-file %s %t
// RUN: not tenon-opt --import --replicas 2 %t/scatter.mlir 2>&1 | FileCheck %t/scatter.mlir
// RUN: not tenon-opt --import --replicas 2 %t/gather.mlir 2>&1 | FileCheck %t/gather.mlir
// RUN: not tenon-opt --import --replicas 2 %t/exchange.mlir 2>&1 | FileCheck %t/exchange.mlir

//--- scatter.mlir
// CHECK: stablehlo.reduce_scatter: a group has 2 processes, its types and attributes are for 3
module @m attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<3xf32>) -> tensor<1xf32> {
    %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<> : tensor<0x0xi64>, scatter_dimension = 0 : i64}> ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}
//--- gather.mlir
// CHECK: stablehlo.all_gather: a group has 2 processes, its types and attributes are for 3
module @m attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<6xf32> {
    %0 = "stablehlo.all_gather"(%x) <{replica_groups = dense<> : tensor<0x0xi64>, all_gather_dim = 0 : i64}> : (tensor<2xf32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
}
//--- exchange.mlir
// CHECK: stablehlo.all_to_all: a group has 2 processes, its types and attributes are for 4
module @m attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_to_all"(%x) <{replica_groups = dense<> : tensor<0x0xi64>, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
