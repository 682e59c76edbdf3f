// Channels behind places that come from data: rows of a picture that is cropped are gone through as one.
// RUN: tenon-opt --fuse --split-input-file %s | FileCheck %s

// CHECK: kernel v1 {{.*}} outer 0
// CHECK-NEXT: dim d0 parallel p0
// CHECK-NEXT: dim d1 parallel p1
// CHECK-NEXT: buffer
// CHECK: %[[THREE:[0-9]+]] = s64 const 3
// CHECK: %[[AT:[0-9]+]] = s64 mul %{{[0-9]+}}, %[[THREE]]
// CHECK: read {{r[0-9]+}} = {{b[0-9]+}}[d0 + %{{[0-9]+}}, d1 + %[[AT]]]
module @crop {
  func.func @main(%x: tensor<223x217x3xui8>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<201x203x3xui8> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %x, %i, %j, %zero, sizes = [201, 203, 3] : (tensor<223x217x3xui8>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<201x203x3xui8>
    return %0 : tensor<201x203x3xui8>
  }
}

// -----

// Colours that lie beside one another are written out, pictures are not: each would be a place of its own in memory.
// CHECK: kernel v1
// CHECK-NEXT: dim d0 parallel 5
// CHECK: read {{r[0-9]+}} = b1[{{.*}}d2*3]
// CHECK: read {{r[0-9]+}} = b1[{{.*}}d2*3 + 1]
// CHECK: read {{r[0-9]+}} = b1[{{.*}}d2*3 + 2]
module @normalised {
  func.func @main(%x: tensor<5x223x217x3xui8>, %m: tensor<3xf32>) -> tensor<5x201x203x3xf32> {
    %0 = stablehlo.slice %x [0:5, 0:201, 0:203, 0:3] : (tensor<5x223x217x3xui8>) -> tensor<5x201x203x3xui8>
    %1 = stablehlo.convert %0 : (tensor<5x201x203x3xui8>) -> tensor<5x201x203x3xf32>
    %2 = stablehlo.broadcast_in_dim %m, dims = [3] : (tensor<3xf32>) -> tensor<5x201x203x3xf32>
    %3 = stablehlo.subtract %1, %2 : tensor<5x201x203x3xf32>
    return %3 : tensor<5x201x203x3xf32>
  }
}

// -----

// Means and deviations of colours that are written out are numbers in the kernel, not memory that it reads.
// CHECK: kernel v1
// CHECK: buffer b1 arg u8
// CHECK-NOT: buffer b2
// CHECK-DAG: f32 const 0.48
// CHECK-DAG: f32 const 0.23
// CHECK: stage
module @brought_to_one {
  func.func @main(%x: tensor<5x223x217x3xui8>) -> tensor<5x201x203x3xf32> {
    %m = stablehlo.constant dense<[0.48, 0.45, 0.4]> : tensor<3xf32>
    %d = stablehlo.constant dense<[0.22, 0.22, 0.23]> : tensor<3xf32>
    %0 = stablehlo.slice %x [0:5, 0:201, 0:203, 0:3] : (tensor<5x223x217x3xui8>) -> tensor<5x201x203x3xui8>
    %1 = stablehlo.convert %0 : (tensor<5x201x203x3xui8>) -> tensor<5x201x203x3xf32>
    %2 = stablehlo.broadcast_in_dim %m, dims = [3] : (tensor<3xf32>) -> tensor<5x201x203x3xf32>
    %3 = stablehlo.broadcast_in_dim %d, dims = [3] : (tensor<3xf32>) -> tensor<5x201x203x3xf32>
    %4 = stablehlo.subtract %1, %2 : tensor<5x201x203x3xf32>
    %5 = stablehlo.divide %4, %3 : tensor<5x201x203x3xf32>
    return %5 : tensor<5x201x203x3xf32>
  }
}
