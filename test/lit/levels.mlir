// Values that kernels would want at several places each, level by level: computed once, not by every kernel that
// comes to them.
// RUN: tenon-opt --plan %s | FileCheck %s
// CHECK: plan "levels"
// CHECK: kernel [[K:[0-9]+]] ({{.*}}) params [512,1024]
// CHECK: kernel [[K]] ({{.*}}) params [256,512]
// CHECK: kernel [[K]] ({{.*}}) params [128,256]
module @levels {
  func.func @main(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<512xf32>, tensor<256xf32>, tensor<128xf32>, tensor<64xf32>, tensor<32xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %e0 = stablehlo.slice %x [0:1024:2] : (tensor<1024xf32>) -> tensor<512xf32>
    %o0 = stablehlo.slice %x [1:1024:2] : (tensor<1024xf32>) -> tensor<512xf32>
    %v0 = stablehlo.multiply %e0, %o0 : tensor<512xf32>
    %d0 = stablehlo.pad %v0, %z, low = [1], high = [0], interior = [1] : (tensor<512xf32>, tensor<f32>) -> tensor<1024xf32>
    %e1 = stablehlo.slice %v0 [0:512:2] : (tensor<512xf32>) -> tensor<256xf32>
    %o1 = stablehlo.slice %v0 [1:512:2] : (tensor<512xf32>) -> tensor<256xf32>
    %v1 = stablehlo.multiply %e1, %o1 : tensor<256xf32>
    %d1 = stablehlo.pad %v1, %z, low = [1], high = [0], interior = [1] : (tensor<256xf32>, tensor<f32>) -> tensor<512xf32>
    %e2 = stablehlo.slice %v1 [0:256:2] : (tensor<256xf32>) -> tensor<128xf32>
    %o2 = stablehlo.slice %v1 [1:256:2] : (tensor<256xf32>) -> tensor<128xf32>
    %v2 = stablehlo.multiply %e2, %o2 : tensor<128xf32>
    %d2 = stablehlo.pad %v2, %z, low = [1], high = [0], interior = [1] : (tensor<128xf32>, tensor<f32>) -> tensor<256xf32>
    %e3 = stablehlo.slice %v2 [0:128:2] : (tensor<128xf32>) -> tensor<64xf32>
    %o3 = stablehlo.slice %v2 [1:128:2] : (tensor<128xf32>) -> tensor<64xf32>
    %v3 = stablehlo.multiply %e3, %o3 : tensor<64xf32>
    %d3 = stablehlo.pad %v3, %z, low = [1], high = [0], interior = [1] : (tensor<64xf32>, tensor<f32>) -> tensor<128xf32>
    %e4 = stablehlo.slice %v3 [0:64:2] : (tensor<64xf32>) -> tensor<32xf32>
    %o4 = stablehlo.slice %v3 [1:64:2] : (tensor<64xf32>) -> tensor<32xf32>
    %v4 = stablehlo.multiply %e4, %o4 : tensor<32xf32>
    %d4 = stablehlo.pad %v4, %z, low = [1], high = [0], interior = [1] : (tensor<32xf32>, tensor<f32>) -> tensor<64xf32>
    %e5 = stablehlo.slice %v4 [0:32:2] : (tensor<32xf32>) -> tensor<16xf32>
    %o5 = stablehlo.slice %v4 [1:32:2] : (tensor<32xf32>) -> tensor<16xf32>
    %v5 = stablehlo.multiply %e5, %o5 : tensor<16xf32>
    %d5 = stablehlo.pad %v5, %z, low = [1], high = [0], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
    return %d0, %d1, %d2, %d3, %d4, %d5 : tensor<1024xf32>, tensor<512xf32>, tensor<256xf32>, tensor<128xf32>, tensor<64xf32>, tensor<32xf32>
  }
}
