// Work that leaves loops.
// RUN: tenon-opt --simplify --split-input-file %s | FileCheck %s

// Products of elements of arrays that the loop walks along become one product each; what depends on no trip leaves
// with all that it is made of; what a product takes from memory is computed once.
// CHECK: program @hoist
// CHECK-DAG: dot_general {{.*}} lhs_contracting_dimensions=[2] rhs_contracting_dimensions=[0] : f32[6,24,15]
// CHECK-DAG: dot_general {{.*}} lhs_contracting_dimensions=[1] rhs_contracting_dimensions=[0] : f32[14,6,12]
// CHECK-DAG: dot_general {{.*}} lhs_batching_dimensions=[0] rhs_batching_dimensions=[0] lhs_contracting_dimensions=[3] rhs_contracting_dimensions=[1] : f32[2,6,24,15]
// CHECK-DAG: exponential {{.*}} : f32[16,16]
// CHECK-DAG: multiply {{.*}} : f32[24,24]
// CHECK: while
// CHECK: return
// CHECK-NOT: dot_general
// CHECK-NOT: exponential
// CHECK-NOT: multiply
// CHECK: dynamic_slice {{.*}} : f32[1,24,15]
// CHECK: dynamic_slice {{.*}} : f32[14,1,12]
// CHECK: dynamic_slice {{.*}} : f32[2,1,24,15]
// CHECK: dot_general {{.*}} : f32[24,24]
module @hoist {
  func.func @main(%x: tensor<6x24x14xf32>, %w: tensor<14x15xf32>, %y: tensor<15x6x12xf32>, %z: tensor<2x6x24x14xf32>, %v: tensor<2x14x15xf32>,
                  %e: tensor<16x16xf32>, %k: tensor<24x24xf32>) -> (tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>) {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %c0 = stablehlo.constant dense<0.1> : tensor<24x24xf32>
    %d0 = stablehlo.constant dense<0.0> : tensor<14x12xf32>
    %b0 = stablehlo.constant dense<0.0> : tensor<2x24x15xf32>
    %e0 = stablehlo.constant dense<0.0> : tensor<16x16xf32>
    %r:5 = stablehlo.while(%i = %i0, %c = %c0, %d = %d0, %b = %b0, %f = %e0) : tensor<i32>, tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>
     cond {
      %m = stablehlo.constant dense<12> : tensor<i32>
      %t = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %four = stablehlo.constant dense<4> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %back = stablehlo.subtract %four, %i : tensor<i32>
      %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 24, 14] : (tensor<6x24x14xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x24x14xf32>
      %xi = stablehlo.reshape %xs : (tensor<1x24x14xf32>) -> tensor<24x14xf32>
      %p = stablehlo.dot_general %xi, %w, contracting_dims = [1] x [0] : (tensor<24x14xf32>, tensor<14x15xf32>) -> tensor<24x15xf32>
      %wt = stablehlo.transpose %w, dims = [1, 0] : (tensor<14x15xf32>) -> tensor<15x14xf32>
      %w2 = stablehlo.transpose %wt, dims = [1, 0] : (tensor<15x14xf32>) -> tensor<14x15xf32>
      %ys = stablehlo.dynamic_slice %y, %zero, %back, %zero, sizes = [15, 1, 12] : (tensor<15x6x12xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<15x1x12xf32>
      %yi = stablehlo.reshape %ys : (tensor<15x1x12xf32>) -> tensor<15x12xf32>
      %q = stablehlo.dot_general %w2, %yi, contracting_dims = [1] x [0] : (tensor<14x15xf32>, tensor<15x12xf32>) -> tensor<14x12xf32>
      %zs = stablehlo.dynamic_slice %z, %zero, %i, %zero, %zero, sizes = [2, 1, 24, 14] : (tensor<2x6x24x14xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x1x24x14xf32>
      %zi = stablehlo.reshape %zs : (tensor<2x1x24x14xf32>) -> tensor<2x24x14xf32>
      %s = stablehlo.dot_general %zi, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x24x14xf32>, tensor<2x14x15xf32>) -> tensor<2x24x15xf32>
      %u = stablehlo.dot_general %p, %p, contracting_dims = [1] x [1] : (tensor<24x15xf32>, tensor<24x15xf32>) -> tensor<24x24xf32>
      %half = stablehlo.constant dense<0.5> : tensor<24x24xf32>
      %h = stablehlo.multiply %k, %half : tensor<24x24xf32>
      %u3 = stablehlo.dot_general %h, %c, contracting_dims = [1] x [0] : (tensor<24x24xf32>, tensor<24x24xf32>) -> tensor<24x24xf32>
      %u2 = stablehlo.dot_general %u, %u3, contracting_dims = [1] x [0] : (tensor<24x24xf32>, tensor<24x24xf32>) -> tensor<24x24xf32>
      %c1 = stablehlo.tanh %u2 : tensor<24x24xf32>
      %d1 = stablehlo.add %d, %q : tensor<14x12xf32>
      %b1 = stablehlo.add %b, %s : tensor<2x24x15xf32>
      %n = stablehlo.negate %e : tensor<16x16xf32>
      %ex = stablehlo.exponential %n : tensor<16x16xf32>
      %f1 = stablehlo.maximum %f, %ex : tensor<16x16xf32>
      stablehlo.return %j, %c1, %d1, %b1, %f1 : tensor<i32>, tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>
    }
    return %r#1, %r#2, %r#3, %r#4 : tensor<24x24xf32>, tensor<14x12xf32>, tensor<2x24x15xf32>, tensor<16x16xf32>
  }
}

// -----

// Floats of a byte, which take long to widen, are widened once.
// CHECK: program @bytes
// CHECK: convert {{.*}} : f32[40,50]
// CHECK: while
module @bytes {
  func.func @main(%q: tensor<40x50xf8E4M3FN>, %x: tensor<40x50xf32>) -> tensor<40x50xf32> {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %i0, %c = %x) : tensor<i32>, tensor<40x50xf32>
     cond {
      %m = stablehlo.constant dense<30> : tensor<i32>
      %t = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.convert %q : (tensor<40x50xf8E4M3FN>) -> tensor<40x50xf32>
      %p = stablehlo.multiply %c, %w : tensor<40x50xf32>
      %s = stablehlo.sine %p : tensor<40x50xf32>
      stablehlo.return %j, %s : tensor<i32>, tensor<40x50xf32>
    }
    return %r#1 : tensor<40x50xf32>
  }
}
