// RUN: tenon-opt --plan --split-input-file %s | FileCheck %s

// Running log-sums from either end: one pass. Which end does not matter to a function that takes its arguments either
// way, and of a long array nobody could wait for all windows.
// CHECK-LABEL: plan "both"
// CHECK-COUNT-2: kernel {{[0-9]}} ({{.*}}) params [2000] work [serial
// CHECK-NOT: work
module @both {
  func.func @main(%x: tensor<2000xf32>) -> (tensor<2000xf32>, tensor<2000xf32>) {
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %least) <{padding = dense<[[0, 1999]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2000>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.maximum %a, %b : tensor<f32>
      %2 = stablehlo.subtract %a, %b : tensor<f32>
      %3 = stablehlo.compare NE, %2, %2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.add %a, %b : tensor<f32>
      %5 = stablehlo.abs %2 : tensor<f32>
      %6 = stablehlo.negate %5 : tensor<f32>
      %7 = stablehlo.exponential %6 : tensor<f32>
      %8 = stablehlo.log_plus_one %7 : tensor<f32>
      %9 = stablehlo.add %1, %8 : tensor<f32>
      %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f32>
      stablehlo.return %10 : tensor<f32>
    }) : (tensor<2000xf32>, tensor<f32>) -> tensor<2000xf32>
    %11 = "stablehlo.reduce_window"(%x, %least) <{padding = dense<[[1999, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2000>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.maximum %a, %b : tensor<f32>
      %2 = stablehlo.subtract %a, %b : tensor<f32>
      %3 = stablehlo.abs %2 : tensor<f32>
      %4 = stablehlo.negate %3 : tensor<f32>
      %5 = stablehlo.exponential %4 : tensor<f32>
      %6 = stablehlo.log_plus_one %5 : tensor<f32>
      %7 = stablehlo.add %1, %6 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<2000xf32>, tensor<f32>) -> tensor<2000xf32>
    return %0, %11 : tensor<2000xf32>, tensor<2000xf32>
  }
}

// -----

// A difference does not: all windows.
// CHECK-LABEL: plan "differences"
// CHECK-NOT: serial
module @differences {
  func.func @main(%x: tensor<2000xf32>) -> tensor<2000xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[0, 1999]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2000>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2000xf32>, tensor<f32>) -> tensor<2000xf32>
    return %0 : tensor<2000xf32>
  }
}

// -----

// Running sums in blocks, and what comes before each block: no sum of more than a few tens of elements, one after the
// other. Where blocks can be alike nothing is filled in.
// CHECK-LABEL: plan "blocks"
// CHECK-NOT: params [1000] work [serial
// CHECK: f32[40,25]
// CHECK-NOT: f32[{{[0-9]+}},32]
// CHECK: arena
module @blocks {
  func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %zero) <{padding = dense<[[999, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 1000>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<1000xf32>, tensor<f32>) -> tensor<1000xf32>
    return %0 : tensor<1000xf32>
  }
}
