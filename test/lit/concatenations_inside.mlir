// What is read in a concatenation of concatenations is asked once whether it is there, however many lie around it: code
// that asks for each of them grows with the square of their number.
// RUN: tenon-opt --fuse %s | FileCheck %s

// CHECK: kernel v1
// CHECK: read r0 = {{b[0-9]+}}[d0] if 0 <= d0 < 2 else
// CHECK: read r1 = {{b[0-9]+}}[d0 - 2] if 0 <= d0 - 2 < 4 else
// CHECK: read r2 = {{b[0-9]+}}[d0 - 6] if 0 <= d0 - 6 < 2 else
// CHECK: read r3 = {{b[0-9]+}}[d0 - 8] if 0 <= d0 - 8 < 2 else
// CHECK: read r4 = {{b[0-9]+}}[d0 - 10] if 0 <= d0 - 10 < 4 else
// CHECK: read r5 = {{b[0-9]+}}[d0 - 14] if 0 <= d0 - 14 < 4 else
// CHECK-NOT: read r{{[0-9]+}} =
// CHECK-NOT: kernel
func.func @main(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<18xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  %1 = stablehlo.sine %0 : tensor<6xf32>
  %2 = stablehlo.concatenate %y, %1, %y, dim = 0 : (tensor<2xf32>, tensor<6xf32>, tensor<2xf32>) -> tensor<10xf32>
  %3 = stablehlo.cosine %2 : tensor<10xf32>
  %4 = stablehlo.concatenate %3, %x, %x, dim = 0 : (tensor<10xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<18xf32>
  %5 = stablehlo.negate %4 : tensor<18xf32>
  return %5 : tensor<18xf32>
}
