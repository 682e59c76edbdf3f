// Programs of several replicas, which take and give stacks of what each of them has.
// RUN: tenon-opt --plan --replicas 2 --split-input-file %s | FileCheck %s

// A layout is that of one replica's array, not of the stack.
// CHECK: plan "layouts"
// CHECK: input f32[2,2,3] strides [6,3,1]
// CHECK: output f32[2,2,3]
module @layouts attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) -> (tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}) {
    %0 = stablehlo.add %x, %x : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
