// A softmax over rows becomes one kernel: stages that share the row, whose exponentials wait in a local buffer.
// RUN: tenon-opt --fuse %s | FileCheck %s
// The kernels of a plan are the same ones.
// RUN: tenon-opt --plan %s | tenon-opt --fuse - | FileCheck %s
// And they are kernels.
// RUN: tenon-opt --fuse %s | tenon-opt - | FileCheck %s

// CHECK: kernel v1 params {{[0-9]+}} outer 1 {
// CHECK: buffer {{b[0-9]+}} out f32
// CHECK: graph g0 (f32, f32) {
// CHECK: f32 max
// CHECK: f32 math exp.f32
// CHECK: stage
// CHECK: reduce
// CHECK: stage
// CHECK: reduce
// CHECK: store
// CHECK: split (d0) grain
// CHECK-NOT: kernel
func.func @main(%x: tensor<16x300xf32>) -> tensor<16x300xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<16x300xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<16xf32>) -> tensor<16x300xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<16x300xf32>
  %3 = stablehlo.exponential %2 : tensor<16x300xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x300xf32>, tensor<f32>) -> tensor<16xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<16xf32>) -> tensor<16x300xf32>
  %6 = stablehlo.divide %3, %5 : tensor<16x300xf32>
  return %6 : tensor<16x300xf32>
}
