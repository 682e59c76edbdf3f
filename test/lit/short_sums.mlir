// RUN: tenon-opt --plan --split-input-file %s | FileCheck %s

// A sum of few elements that all points of a large array wait for is not in one kernel with them: they run in pieces,
// and change a loop's state where it lies.
// CHECK-LABEL: plan "by_a_part"
// CHECK: reduce #0
// CHECK: store
// CHECK: kernel v1
// CHECK: in_place_of
// CHECK: f32 fma
// CHECK: split (d0) grain
func.func @by_a_part(%x: tensor<100000xf32>) -> tensor<100000xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<9> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<100000xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.slice %s [0:160] : (tensor<100000xf32>) -> tensor<160xf32>
    %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<160xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<100000xf32>
    %5 = stablehlo.multiply %s, %4 : tensor<100000xf32>
    %6 = stablehlo.add %5, %s : tensor<100000xf32>
    stablehlo.return %1, %6 : tensor<i32>, tensor<100000xf32>
  }
  return %0#1 : tensor<100000xf32>
}

// -----

// One kernel where the array is small.
// CHECK-LABEL: plan "of_few"
// CHECK: reduce #0
// CHECK-NOT: kernel v1
// CHECK: arena
func.func @of_few(%x: tensor<1000xf32>, %w: tensor<160xf32>) -> tensor<1000xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [0] : (tensor<160xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1000xf32>
  %2 = stablehlo.multiply %x, %1 : tensor<1000xf32>
  return %2 : tensor<1000xf32>
}
