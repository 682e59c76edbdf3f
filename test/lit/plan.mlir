// Plans: steps over slots. A matrix product is a driver; a donated argument is taken over by the output.
// RUN: tenon-opt --plan --split-input-file %s | FileCheck %s
// RUN: tenon-opt --schedule --split-input-file %s | FileCheck %s
// Text in, the same text out.
// RUN: tenon-opt --plan --split-input-file %s | tenon-opt - | FileCheck %s

// CHECK: plan "product" {
// CHECK-DAG: input f32[64,32] strides [32,1]
// CHECK-DAG: input f32[32,48] strides [48,1]
// CHECK: output f32[64,48]
// CHECK: steps {
// CHECK: driver "gemm"
module @product {
  func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>) -> tensor<64x48xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<64x48xf32>
    %1 = stablehlo.maximum %0, %zero : tensor<64x48xf32>
    return %1 : tensor<64x48xf32>
  }
}

// -----

// CHECK: plan "donated" {
// CHECK: output f32[1000]{{.*}} alias 0
module @donated {
  func.func @main(%a: tensor<1000xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1000xf32> {
    %0 = stablehlo.negate %a : tensor<1000xf32>
    return %0 : tensor<1000xf32>
  }
}

// -----

// A transpose is a view: the kernel reads the argument by other strides, nothing is copied.
// CHECK: plan "view" {
// CHECK-NOT: copy
// CHECK: steps {
// CHECK-NEXT: kernel 0
// CHECK-NEXT: rename
// CHECK-NEXT: }
module @view {
  func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %1 = stablehlo.add %0, %b : tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}
