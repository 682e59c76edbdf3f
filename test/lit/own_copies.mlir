// Updates of what was updated before, one behind the other, happen in one memory: nothing is copied.
// RUN: tenon-opt --plan %s | FileCheck %s

// CHECK: plan "updates"
// CHECK: steps
// CHECK-NOT: copy
// CHECK: kernel
module @updates {
  func.func @main(%u: tensor<1x3000xf32>, %v: tensor<1x3000xf32>, %w: tensor<1x3000xf32>, %i: tensor<i32>, %j: tensor<i32>, %k: tensor<i32>) -> tensor<50x3000xf32> {
    %zeros = stablehlo.constant dense<0.0> : tensor<50x3000xf32>
    %o = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %zeros, %u, %i, %o : (tensor<50x3000xf32>, tensor<1x3000xf32>, tensor<i32>, tensor<i32>) -> tensor<50x3000xf32>
    %1 = stablehlo.dynamic_update_slice %zeros, %v, %j, %o : (tensor<50x3000xf32>, tensor<1x3000xf32>, tensor<i32>, tensor<i32>) -> tensor<50x3000xf32>
    %2 = stablehlo.dynamic_update_slice %zeros, %w, %k, %o : (tensor<50x3000xf32>, tensor<1x3000xf32>, tensor<i32>, tensor<i32>) -> tensor<50x3000xf32>
    %3 = stablehlo.add %0, %1 : tensor<50x3000xf32>
    %4 = stablehlo.add %3, %2 : tensor<50x3000xf32>
    return %4 : tensor<50x3000xf32>
  }
}
