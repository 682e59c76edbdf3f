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

// -----

// Updates of rows run side by side along the rows, one after another along the updates; a dim of the operand is shared
// out to owners, each of which takes the updates of its part.
// CHECK: plan "rows" {
// CHECK: kernel v1 {{.*}} outer {{[12]}} {
// CHECK: serial
module @rows {
  func.func @main(%a: tensor<100x16xf32>, %i: tensor<30x1xi32>, %u: tensor<30x16xf32>) -> tensor<100x16xf32> {
    %0 = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<100x16xf32>, tensor<30x1xi32>, tensor<30x16xf32>) -> tensor<100x16xf32>
    return %0 : tensor<100x16xf32>
  }
}

// -----

// A short line is sorted by ranks, a long one in passes, or, where the device is no faster than the host, by that.
// CHECK: plan "short_line" {
// CHECK-NOT: driver
// CHECK: kernel 0
// CHECK: plan "long_line" {
// CHECK: driver "sort"
// FUSED: loop
module @short_line {
  func.func @main(%a: tensor<4x100xf32>) -> tensor<4x100xf32> {
    %0 = "stablehlo.sort"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) {dimension = 1 : i64} : (tensor<4x100xf32>) -> tensor<4x100xf32>
    return %0 : tensor<4x100xf32>
  }
}

// -----

module @long_line {
  func.func @main(%a: tensor<100000xf32>) -> tensor<100000xf32> {
    %0 = "stablehlo.sort"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %p = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<100000xf32>) -> tensor<100000xf32>
    return %0 : tensor<100000xf32>
  }
}
