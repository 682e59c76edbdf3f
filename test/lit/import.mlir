// The compiler's graph: calls inlined, attributes as plain data, no types but element types and extents.
// RUN: tenon-opt --import %s | FileCheck %s
// RUN: tenon-opt --emit-bytecode 1.9.0 %s | tenon-opt --import - | FileCheck %s

// CHECK: program @inlined
// CHECK-NEXT: %[[A:[0-9]+]] = parameter : f32[4]
// CHECK-NEXT: %[[B:[0-9]+]] = parameter : f32[4]
// CHECK-NOT: call
// CHECK: %[[S:[0-9]+]] = add %[[A]], %[[B]] : f32[4]
// CHECK: %[[M:[0-9]+]] = multiply %[[S]], %[[A]] : f32[4]
// CHECK: return %[[M]]
module @inlined {
  func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @sum(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.multiply %0, %a : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @sum(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
