// Plans for GPUs: products and convolutions are kernels whose points compute tiles, copies are kernels, and what has no
// form there is a step of the host's drivers.
// RUN: tenon-opt --target gpu:software --plan --split-input-file %s | FileCheck %s
// RUN: tenon-opt --target gpu:least --plan --split-input-file %s | FileCheck %s --check-prefix=LEAST
// RUN: tenon-opt --target gpu:discrete --fuse --split-input-file %s | FileCheck %s --check-prefix=FUSED

// CHECK: plan "product" {
// CHECK-NOT: driver
// CHECK: steps {
// CHECK-NEXT: kernel 0
// Every sum has its terms in ascending order; where there is fused multiply-add, both factors go into it.
// FUSED: reduce
// FUSED: fma
module @product {
  func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x256xf32>) -> tensor<64x256xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x256xf32>) -> tensor<64x256xf32>
    return %0 : tensor<64x256xf32>
  }
}

// -----

// Few results of many terms have the lanes of a workgroup each.
// CHECK: plan "few_results" {
// CHECK-NOT: driver
// CHECK: reduce #0 over (d1) lanes
module @few_results {
  func.func @main(%a: tensor<4x2048xf32>, %b: tensor<2048xf32>) -> tensor<4xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x2048xf32>, tensor<2048xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// CHECK: plan "convolution" {
// CHECK-NOT: driver
// CHECK: steps {
// CHECK-NEXT: kernel
module @convolution {
  func.func @main(%a: tensor<1x16x16x8xf32>, %b: tensor<3x3x8x16xf32>) -> tensor<1x16x16x16xf32> {
    %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x16x16x16xf32>
    return %0 : tensor<1x16x16x16xf32>
  }
}

// -----

// A type that the device has no arithmetic for goes to the host.
// CHECK: plan "wide" {
// CHECK: kernel 0
// LEAST: plan "wide" {
// LEAST: evaluate
module @wide {
  func.func @main(%a: tensor<64xf64>) -> tensor<64xf64> {
    %0 = stablehlo.negate %a : tensor<64xf64>
    return %0 : tensor<64xf64>
  }
}

// -----

// CHECK: plan "turned" {
// CHECK-NOT: copy
// CHECK: kernel 0
module @turned {
  func.func @main(%a: tensor<8x8xf16>) -> tensor<8x8xf16> {
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x8xf16>) -> tensor<8x8xf16>
    return %0 : tensor<8x8xf16>
  }
}
