// Kernels cut into regions that lie like the vanes of a pinwheel write all of their results, whatever the numbers of rows.
// RUN: tenon-opt --plan --split-input-file %s | FileCheck %s

// CHECK: plan "image"
// CHECK: plan "bytes"
// CHECK: plan "twelve"
module @image {
  func.func @main(%a: tensor<2x16x300x16xf32>) -> tensor<3x19x302x17xf32> {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %a, %c, low = [0, 2, 2, 0], high = [1, 1, 0, 1], interior = [0, 0, 0, 0] : (tensor<2x16x300x16xf32>, tensor<f32>) -> tensor<3x19x302x17xf32>
    return %0 : tensor<3x19x302x17xf32>
  }
}

// -----

module @bytes {
  func.func @main(%a: tensor<5x150x1x1x5xi8>) -> tensor<7x150x3x2x5xi8> {
    %c = stablehlo.constant dense<1> : tensor<i8>
    %0 = stablehlo.pad %a, %c, low = [0, 0, 1, 0, 0], high = [2, 0, 1, 1, 0], interior = [0, 0, 0, 0, 0] : (tensor<5x150x1x1x5xi8>, tensor<i8>) -> tensor<7x150x3x2x5xi8>
    return %0 : tensor<7x150x3x2x5xi8>
  }
}

// -----

module @twelve {
  func.func @main(%a: tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32>) -> tensor<3x3x3x3x3x3x3x3x3x3x3x3xf32> {
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.pad %a, %c, low = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], high = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], interior = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
      : (tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32>, tensor<f32>) -> tensor<3x3x3x3x3x3x3x3x3x3x3x3xf32>
    return %0 : tensor<3x3x3x3x3x3x3x3x3x3x3x3xf32>
  }
}
