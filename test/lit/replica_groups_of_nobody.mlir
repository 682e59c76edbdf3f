// RUN: not tenon-opt --import --replicas 2 %s 2>&1 | FileCheck %s
// CHECK: stablehlo.all_reduce: a replica group of nobody
module @sums attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [-1, -1]]> : tensor<2x2xi64>}> ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
