// RUN: tenon-opt --emit-bytecode 1.4.0 %s > %t.1_4.bc
// RUN: tenon-opt %t.1_4.bc | FileCheck %s
// RUN: tenon-opt --emit-bytecode 0.9.0 %t.1_4.bc > %t.0_9.bc
// RUN: tenon-opt %t.0_9.bc | FileCheck %s
// RUN: tenon-opt --emit-bytecode 1.20.0 %t.0_9.bc > %t.1_20.bc
// RUN: tenon-opt %t.1_20.bc | FileCheck %s
// RUN: not tenon-opt --emit-bytecode 1.21.0 %s 2>&1 | FileCheck --check-prefix=FUTURE %s

// FUTURE: version 1.21.0 cannot be written

// CHECK-LABEL: func.func public @main
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: stablehlo.exponential %arg0 : tensor<4xf32>
  %0 = stablehlo.exponential %x : tensor<4xf32>
  // CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0] x [0]
  %1 = "stablehlo.dot_general"(%0, %y) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // CHECK: stablehlo.custom_call @f
  %2 = "stablehlo.custom_call"(%1) {call_target_name = "f"} : (tensor<f32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
