// A constant from outside that a combiner uses is moved into it: nothing is left to the evaluator.
// RUN: tenon-opt --import %s | FileCheck %s
// RUN: tenon-opt --plan %s | FileCheck %s --check-prefix=PLAN

// CHECK: reduce
// CHECK-NOT: opaque
// PLAN-NOT: evaluate
func.func @main(%x: tensor<300x200xf32>) -> tensor<300xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%most: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.multiply %y, %half : tensor<f32>
    %2 = stablehlo.maximum %most, %1 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<300x200xf32>, tensor<f32>) -> tensor<300xf32>
  return %0 : tensor<300xf32>
}
