// What is interleaved is written by one stage, whose stores are neighbours; parts that lie apart are stages of their own.
// RUN: tenon-opt --fuse --split-input-file %s | FileCheck %s

// CHECK: kernel v1
// CHECK: stage (d0) {
// CHECK-NEXT: store [[OUT:b[0-9]+]][d0*2] =
// CHECK-NEXT: store [[OUT]][d0*2 + 1] =
// CHECK-NEXT: }
// CHECK-NEXT: split (d0)
module @interleaved {
  func.func @main(%x: tensor<300000xui8>) -> tensor<600000xui8> {
    %mask = stablehlo.constant dense<15> : tensor<300000xui8>
    %four = stablehlo.constant dense<4> : tensor<300000xui8>
    %0 = stablehlo.and %x, %mask : tensor<300000xui8>
    %1 = stablehlo.shift_right_logical %x, %four : tensor<300000xui8>
    %2 = stablehlo.reshape %0 : (tensor<300000xui8>) -> tensor<300000x1xui8>
    %3 = stablehlo.reshape %1 : (tensor<300000xui8>) -> tensor<300000x1xui8>
    %4 = stablehlo.concatenate %2, %3, dim = 1 : (tensor<300000x1xui8>, tensor<300000x1xui8>) -> tensor<300000x2xui8>
    %5 = stablehlo.reshape %4 : (tensor<300000x2xui8>) -> tensor<600000xui8>
    return %5 : tensor<600000xui8>
  }
}

// -----

// CHECK: kernel v1
// CHECK: stage (d0) {
// CHECK-NEXT: store
// CHECK-NEXT: }
// CHECK-NEXT: stage (d0) {
// CHECK-NEXT: store
// CHECK-NEXT: }
module @apart {
  func.func @main(%x: tensor<3000xf32>) -> tensor<6000xf32> {
    %0 = stablehlo.abs %x : tensor<3000xf32>
    %1 = stablehlo.negate %x : tensor<3000xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3000xf32>, tensor<3000xf32>) -> tensor<6000xf32>
    return %2 : tensor<6000xf32>
  }
}

// -----

// Sums of columns that go through one array do so together.
// CHECK: kernel v1
// CHECK: reduce #0 over ([[D:d[0-9]+]]) sequential
// CHECK-NEXT: reduce #1 over ([[D]]) sequential
// CHECK: split
// CHECK-NOT: kernel v1
module @columns {
  func.func @main(%x: tensor<3000x400xf32>, %y: tensor<3000x400xf32>) -> (tensor<400xf32>, tensor<400xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.multiply %x, %y : tensor<3000x400xf32>
    %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3000x400xf32>, tensor<f32>) -> tensor<400xf32>
    %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3000x400xf32>, tensor<f32>) -> tensor<400xf32>
    return %1, %2 : tensor<400xf32>, tensor<400xf32>
  }
}

// -----

// Stages with dims of their own are cut along those, all by one range.
// CHECK: kernel v1
// CHECK: store b0[d0] =
// CHECK: stage (d1) {
// CHECK-NEXT: store b0[d1 + 3] =
// CHECK: split (d0)
module @edges {
  func.func @main(%x: tensor<30000xf32>) -> tensor<30000xf32> {
    %0 = stablehlo.slice %x [0:3] : (tensor<30000xf32>) -> tensor<3xf32>
    %1 = stablehlo.negate %0 : tensor<3xf32>
    %2 = stablehlo.slice %x [0:29997] : (tensor<30000xf32>) -> tensor<29997xf32>
    %3 = stablehlo.slice %x [3:30000] : (tensor<30000xf32>) -> tensor<29997xf32>
    %4 = stablehlo.subtract %2, %3 : tensor<29997xf32>
    %5 = stablehlo.concatenate %1, %4, dim = 0 : (tensor<3xf32>, tensor<29997xf32>) -> tensor<30000xf32>
    return %5 : tensor<30000xf32>
  }
}
