// Folds constants, shares equal nodes, drops dead ones.
// RUN: tenon-opt --simplify %s | FileCheck %s

// CHECK: program @simple
// CHECK-NEXT: %[[A:[0-9]+]] = parameter : s32[4]
// CHECK-NOT: multiply
// CHECK-NOT: subtract
// CHECK: %[[S:[0-9]+]] = add %[[A]], %{{[0-9]+}} : s32[4]
// CHECK-NOT: add
// CHECK: return %[[S]], %[[S]]
module @simple {
  func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
    %two = stablehlo.constant dense<2> : tensor<4xi32>
    %three = stablehlo.constant dense<3> : tensor<4xi32>
    %six = stablehlo.multiply %two, %three : tensor<4xi32>
    %dead = stablehlo.subtract %a, %two : tensor<4xi32>
    %0 = stablehlo.add %a, %six : tensor<4xi32>
    %1 = stablehlo.add %a, %six : tensor<4xi32>
    return %0, %1 : tensor<4xi32>, tensor<4xi32>
  }
}
