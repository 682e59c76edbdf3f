// What combines the parts of two devices takes in the constants that it uses.
// RUN: tenon-opt --import --replicas 2 --split-input-file %s | FileCheck %s

// CHECK: program @sums
// CHECK: stablehlo.map %{{[0-9]+}}, %{{[0-9]+}} : f32[2]
module @sums attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %k = stablehlo.constant dense<4.0> : tensor<f32>
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      %2 = stablehlo.minimum %1, %k : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// One op is that op between whole arrays only where nothing else says what it does.
// CHECK: program @agreements
// CHECK: stablehlo.map %{{[0-9]+}}, %{{[0-9]+}} : pred[2]
module @agreements attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2xi1>) -> tensor<2xi1> {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
     ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %1 = stablehlo.compare EQ, %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<2xi1>) -> tensor<2xi1>
    return %0 : tensor<2xi1>
  }
}

// -----

// What combines wider elements than those of the operand gets them wider.
// CHECK: program @wider
// CHECK: convert %{{[0-9]+}} : f32[4]
// CHECK-NOT: add %{{[0-9]+}}, %{{[0-9]+}} : bf16
module @wider attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<4xbf16>) -> (tensor<4xf32>, tensor<2xf32>) {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xbf16>) -> tensor<4xf32>
    %2 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %3 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4xbf16>) -> tensor<2xf32>
    return %0, %2 : tensor<4xf32>, tensor<2xf32>
  }
}
