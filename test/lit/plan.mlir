// Plans: steps over slots. A matrix product is a driver; a donated argument is taken over by the output.
// RUN: tenon-opt --plan --split-input-file %s | FileCheck %s
// RUN: tenon-opt --schedule --split-input-file %s | FileCheck %s
// Text in, the same text out.
// RUN: tenon-opt --plan --split-input-file %s | tenon-opt - | FileCheck %s

// CHECK: plan "product" {
// CHECK-DAG: input f32[64,32] strides [32,1]
// CHECK-DAG: input f32[32,48] strides [48,1]
// CHECK: output f32[64,48]
// CHECK: steps {
// CHECK: driver "gemm"
module @product {
  func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x48xf32>) -> tensor<64x48xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<64x48xf32>
    %1 = stablehlo.maximum %0, %zero : tensor<64x48xf32>
    return %1 : tensor<64x48xf32>
  }
}

// -----

// CHECK: plan "donated" {
// CHECK: output f32[1000]{{.*}} alias 0
module @donated {
  func.func @main(%a: tensor<1000xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1000xf32> {
    %0 = stablehlo.negate %a : tensor<1000xf32>
    return %0 : tensor<1000xf32>
  }
}

// -----

// A part of a donated argument is updated from itself: the rest of it stays where it is, and the kernel reads the part
// where it writes it.
// CHECK: plan "donated_part" {
// CHECK: output f32[100000]{{.*}} alias 0 contents
module @donated_part {
  func.func @main(%a: tensor<100000xf32> {tf.aliasing_output = 0 : i32}, %i: tensor<i32>) -> tensor<100000xf32> {
    %0 = stablehlo.dynamic_slice %a, %i, sizes = [16] : (tensor<100000xf32>, tensor<i32>) -> tensor<16xf32>
    %1 = stablehlo.sine %0 : tensor<16xf32>
    %2 = stablehlo.dynamic_update_slice %a, %1, %i : (tensor<100000xf32>, tensor<16xf32>, tensor<i32>) -> tensor<100000xf32>
    return %2 : tensor<100000xf32>
  }
}

// -----

// A transpose is a view: the kernel reads the argument by other strides, nothing is copied.
// CHECK: plan "view" {
// CHECK-NOT: copy
// CHECK: steps {
// CHECK-NEXT: kernel 0
// CHECK-NEXT: rename
// CHECK-NEXT: }
module @view {
  func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %1 = stablehlo.add %0, %b : tensor<16x8xf32>
    return %1 : tensor<16x8xf32>
  }
}

// -----

// A loop in a loop takes rows of an argument that is upside down: it is turned once, before both. What a trip of the
// outer loop sorts and turns is turned in that trip.
// CHECK: plan "turned" {
// CHECK: steps {
// CHECK: kernel 0 {{.*}} params [500,3000,1500000,-3000,1497000]
// CHECK: while
// CHECK: body {
// CHECK-NEXT: driver "sort" {{.*$}}
// CHECK-NEXT: }
// CHECK-NEXT: kernel 1 {{.*}} params [3000,2999]
// CHECK-NEXT: kernel 2
module @turned {
  func.func @main(%a: tensor<500x3000xf32>, %x: tensor<3000xf32>) -> tensor<3000xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %down = stablehlo.reverse %a, dims = [0] : tensor<500x3000xf32>
    %n = stablehlo.constant dense<500> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<3000xf32>
     cond {
      %t = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %o = "stablehlo.sort"(%c) <{dimension = 0 : i64}> ({
       ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %t = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      }) : (tensor<3000xf32>) -> tensor<3000xf32>
      %back = stablehlo.reverse %o, dims = [0] : tensor<3000xf32>
      %s:2 = stablehlo.while(%j = %zero, %d = %c) : tensor<i32>, tensor<3000xf32>
       cond {
        %t = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %row = stablehlo.dynamic_slice %down, %j, %zero, sizes = [1, 3000] : (tensor<500x3000xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3000xf32>
        %v = stablehlo.reshape %row : (tensor<1x3000xf32>) -> tensor<3000xf32>
        %e = stablehlo.multiply %d, %v : tensor<3000xf32>
        %g = stablehlo.add %e, %back : tensor<3000xf32>
        %j1 = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %j1, %g : tensor<i32>, tensor<3000xf32>
      }
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %s#1 : tensor<i32>, tensor<3000xf32>
    }
    return %r#1 : tensor<3000xf32>
  }
}

// -----

// A matrix that a loop multiplies with a vector in every trip lies by columns from the start, as the driver wants it; in
// a loop of few trips it is not worth that. Nothing counts the trips that are known.
// CHECK: plan "turned_matrix" {
// CHECK: steps {
// CHECK: kernel 0 {{.*}} params [70,4900]
// CHECK: while {{.*}} trip 100
// CHECK: body {
// CHECK-NEXT: driver "gemm" {{.*$}}
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK: while {{.*}} trip 10
// CHECK: body {
// CHECK-NEXT: driver "gemm"
module @turned_matrix {
  func.func @main(%w: tensor<70x70xf32>, %x: tensor<70xf32>) -> (tensor<70xf32>, tensor<70xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %many = stablehlo.constant dense<100> : tensor<i32>
    %few = stablehlo.constant dense<10> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<70xf32>
     cond {
      %t = stablehlo.compare LT, %i, %many, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %y = stablehlo.dot_general %c, %w, contracting_dims = [0] x [0] : (tensor<70xf32>, tensor<70x70xf32>) -> tensor<70xf32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %y : tensor<i32>, tensor<70xf32>
    }
    %s:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<70xf32>
     cond {
      %t = stablehlo.compare LT, %i, %few, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %y = stablehlo.dot_general %c, %w, contracting_dims = [0] x [0] : (tensor<70xf32>, tensor<70x70xf32>) -> tensor<70xf32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %y : tensor<i32>, tensor<70xf32>
    }
    return %r#1, %s#1 : tensor<70xf32>, tensor<70xf32>
  }
}

// -----

// A matrix of narrow floats that a loop multiplies in every trip is widened before it, and packed in none.
// CHECK: plan "widened_matrix" {
// CHECK: slot {{.*}} temp {{.*}} f32[40,80]
// CHECK: steps {
// CHECK: kernel 0 {{.*}} params
// CHECK: while {{.*}} trip 100
// CHECK: body {
// CHECK: driver "gemm"
module @widened_matrix {
  func.func @main(%w: tensor<40x80xf16>, %v: tensor<80x40xf16>, %x: tensor<40xf16>) -> tensor<40xf16> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %many = stablehlo.constant dense<100> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<40xf16>
     cond {
      %t = stablehlo.compare LT, %i, %many, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %y = stablehlo.dot_general %c, %w, contracting_dims = [0] x [0] : (tensor<40xf16>, tensor<40x80xf16>) -> tensor<80xf16>
      %z = stablehlo.tanh %y : tensor<80xf16>
      %n = stablehlo.dot_general %z, %v, contracting_dims = [0] x [0] : (tensor<80xf16>, tensor<80x40xf16>) -> tensor<40xf16>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %n : tensor<i32>, tensor<40xf16>
    }
    return %r#1 : tensor<40xf16>
  }
}

// -----

// What a loop adds to a part of an array is added where it lies: the rest is neither read nor written, and no point asks
// where it is.
// CHECK: plan "leapfrog" {
// CHECK: kernel v1
// CHECK-NOT: select
// CHECK: loop #0 {{.*}} times 10
// CHECK-NEXT: stage (d0, d1) domain d0 [1, 40), d1 [1, 50) {
// CHECK-NEXT: store
// CHECK-NEXT: }
// CHECK-NEXT: stage (d2, d3) {
// CHECK-NEXT: store {{.*}} combine
// CHECK-NEXT: }
// CHECK-NEXT: }
module @leapfrog {
  func.func @main(%a: tensor<40x50xf32>, %b: tensor<40x50xf32>) -> (tensor<40x50xf32>, tensor<40x50xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = stablehlo.while(%i = %zero, %x = %a, %z = %b) : tensor<i32>, tensor<40x50xf32>, tensor<40x50xf32>
    cond {
      %n = stablehlo.constant dense<10> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %first = stablehlo.constant dense<0> : tensor<2xi32>
      %second = stablehlo.constant dense<1> : tensor<2xi32>
      %f = stablehlo.slice %z [0:39, 0:49] : (tensor<40x50xf32>) -> tensor<39x49xf32>
      %y = "stablehlo.scatter"(%x, %second, %f) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
      ^bb0(%u: tensor<f32>, %v: tensor<f32>):
        %w = stablehlo.add %u, %v : tensor<f32>
        stablehlo.return %w : tensor<f32>
      }) : (tensor<40x50xf32>, tensor<2xi32>, tensor<39x49xf32>) -> tensor<40x50xf32>
      %g = stablehlo.slice %y [1:40, 1:50] : (tensor<40x50xf32>) -> tensor<39x49xf32>
      %c = "stablehlo.scatter"(%z, %first, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
      ^bb0(%u: tensor<f32>, %v: tensor<f32>):
        %w = stablehlo.subtract %u, %v : tensor<f32>
        stablehlo.return %w : tensor<f32>
      }) : (tensor<40x50xf32>, tensor<2xi32>, tensor<39x49xf32>) -> tensor<40x50xf32>
      stablehlo.return %next, %y, %c : tensor<i32>, tensor<40x50xf32>, tensor<40x50xf32>
    }
    return %r#1, %r#2 : tensor<40x50xf32>, tensor<40x50xf32>
  }
}

// -----

// The same of arrays that are worth a kernel each; and results of one kernel each have the memory of what they come from.
// CHECK: plan "leapfrog_of_many" {
// CHECK: kernel v1
// CHECK: in_place_of
// CHECK-NOT: select
// CHECK: stage (d0, d1) domain d0 [p{{[0-9]+}}, p0), d1 [p{{[0-9]+}}, p1) {
// CHECK-NEXT: store
// CHECK-NEXT: }
// CHECK-NEXT: split
// CHECK: kernel v1
// CHECK-COUNT-2: in_place_of
// CHECK: trip 10
module @leapfrog_of_many {
  func.func @main(%a: tensor<400x500xf32>, %b: tensor<400x500xf32>, %m: tensor<400x500xf32>) -> (tensor<400x500xf32>, tensor<400x500xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:4 = stablehlo.while(%i = %zero, %x = %a, %z = %b, %n = %m) : tensor<i32>, tensor<400x500xf32>, tensor<400x500xf32>, tensor<400x500xf32>
    cond {
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %p = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %second = stablehlo.constant dense<1> : tensor<2xi32>
      %f = stablehlo.slice %z [0:399, 0:499] : (tensor<400x500xf32>) -> tensor<399x499xf32>
      %y = "stablehlo.scatter"(%x, %second, %f) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>}> ({
      ^bb0(%u: tensor<f32>, %v: tensor<f32>):
        %w = stablehlo.add %u, %v : tensor<f32>
        stablehlo.return %w : tensor<f32>
      }) : (tensor<400x500xf32>, tensor<2xi32>, tensor<399x499xf32>) -> tensor<400x500xf32>
      %back = stablehlo.reverse %y, dims = [0, 1] : tensor<400x500xf32>
      %half = stablehlo.constant dense<0.5> : tensor<400x500xf32>
      %decayed = stablehlo.multiply %n, %half : tensor<400x500xf32>
      %momentum = stablehlo.add %decayed, %back : tensor<400x500xf32>
      %moved = stablehlo.subtract %z, %momentum : tensor<400x500xf32>
      stablehlo.return %next, %y, %moved, %momentum : tensor<i32>, tensor<400x500xf32>, tensor<400x500xf32>, tensor<400x500xf32>
    }
    return %r#1, %r#2 : tensor<400x500xf32>, tensor<400x500xf32>
  }
}

// -----

// Of what a result keeps little, little is computed.
// CHECK: plan "kept" {
// CHECK: kernel v1
// CHECK: dim d0 parallel 4
// CHECK: arena 0
// CHECK-NOT: copy
module @kept {
  func.func @main(%x: tensor<600000xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %x : tensor<600000xf32>
    %1 = stablehlo.slice %0 [599990:600000:3] : (tensor<600000xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// Columns that are added at places from data are added row by row: cores share out the rows.
// CHECK: plan "columns_added" {
// CHECK: kernel v1 {{.*}} outer 1 {
// CHECK-NEXT: dim d0 parallel p0
// CHECK-NEXT: dim d1 serial p1
// CHECK: stage (d1) {
// CHECK-NEXT: store {{.*}} combine g0 row_major if
// CHECK: split (d0)
module @columns_added {
  func.func @main(%x: tensor<400x50xf32>, %at: tensor<630x1xi32>, %u: tensor<400x630xf32>) -> tensor<400x50xf32> {
    %0 = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<400x50xf32>, tensor<630x1xi32>, tensor<400x630xf32>) -> tensor<400x50xf32>
    return %0 : tensor<400x50xf32>
  }
}

// -----

// Of a count only what is looked at is ever made, however many look.
// CHECK: plan "parts_of_a_count" {
// CHECK-NOT: 5000000000
module @parts_of_a_count {
  func.func @main() -> (tensor<4xi64>, tensor<4xi64>) {
    %0 = stablehlo.iota dim = 0 : tensor<5000000000xi64>
    %1 = stablehlo.slice %0 [4999999984:5000000000:4] : (tensor<5000000000xi64>) -> tensor<4xi64>
    %2 = stablehlo.reverse %0, dims = [0] : tensor<5000000000xi64>
    %3 = stablehlo.slice %2 [0:4] : (tensor<5000000000xi64>) -> tensor<4xi64>
    return %1, %3 : tensor<4xi64>, tensor<4xi64>
  }
}

// -----

// Complex rows that are added at places from data are their parts, one run through memory per row.
// CHECK: plan "complex_rows_added" {
// CHECK: kernel v1
// CHECK-NEXT: dim d0 serial
// CHECK-NEXT: dim d1 parallel
// CHECK-NOT: dim
// CHECK: buffer b2 out f32 [p{{[0-9]+}}, p{{[0-9]+}}]
// CHECK: store b2[%{{[0-9]+}}, d1] = %{{[0-9]+}} combine g0 row_major if
// CHECK-NOT: store
module @complex_rows_added {
  func.func @main(%t: tensor<200x3x7xcomplex<f32>>, %i: tensor<500x1xi32>, %u: tensor<500x3x7xcomplex<f32>>) -> tensor<200x3x7xcomplex<f32>> {
    %y = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
      %sum = stablehlo.add %a, %b : tensor<complex<f32>>
      stablehlo.return %sum : tensor<complex<f32>>
    }) : (tensor<200x3x7xcomplex<f32>>, tensor<500x1xi32>, tensor<500x3x7xcomplex<f32>>) -> tensor<200x3x7xcomplex<f32>>
    return %y : tensor<200x3x7xcomplex<f32>>
  }
}

// -----

// Rows that are part of a vector each are moved as they are, not element by element of many rows.
// CHECK: plan "rows_of_five" {
// CHECK: kernel v1
// CHECK-NEXT: dim d0 parallel p0
// CHECK-NEXT: dim d1 parallel p1
// CHECK-NEXT: dim d2 parallel 5
// CHECK-COUNT-1: store
// CHECK-NOT: store
module @rows_of_five {
  func.func @main(%x: tensor<170x310x5xf32>) -> tensor<310x170x5xf32> {
    %y = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<170x310x5xf32>) -> tensor<310x170x5xf32>
    return %y : tensor<310x170x5xf32>
  }
}
