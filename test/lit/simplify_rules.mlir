// Every rule of simplify does something here, and says so.
// RUN: tenon-opt --simplify --trace-rules --split-input-file %s | FileCheck %s

// CHECK-DAG: fold: multiply %{{[0-9]+}}, %{{[0-9]+}} : f32[4] -> %{{[0-9]+}} = constant splat 0x0000c040 : f32[4]
// CHECK-DAG: same_type: convert %[[X:[0-9]+]] : f32[4] -> %[[X]] = parameter
// CHECK-DAG: add_zero: add %[[X]], %{{[0-9]+}} : f32[4] -> %[[X]] = parameter
// CHECK-DAG: subtract_zero: subtract %[[X]], %{{[0-9]+}} : f32[4] -> %[[X]] = parameter
// CHECK-DAG: multiply_one: multiply %{{[0-9]+}}, %[[X]] : f32[4] -> %[[X]] = parameter
// CHECK-DAG: divide_one: divide %[[X]], %{{[0-9]+}} : f32[4] -> %[[X]] = parameter
// CHECK-DAG: divide_power_of_two: divide %[[X]], %{{[0-9]+}} : f32[4] -> %{{[0-9]+}} = multiply %[[X]], %{{[0-9]+}} : f32[4]
// CHECK-DAG: same_operands: maximum %[[X]], %[[X]] : f32[4] -> %[[X]] = parameter
// CHECK-DAG: same_cancel: subtract %[[I:[0-9]+]], %[[I]] : s32[4] -> %{{[0-9]+}} = constant splat 0x00000000 : s32[4]
// CHECK-DAG: extreme_identity: minimum %[[X]], %{{[0-9]+}} : f32[4] -> %[[X]] = parameter
// CHECK-DAG: logic_constant: and %[[P:[0-9]+]], %{{[0-9]+}} : pred[4] -> %[[P]] = parameter
// CHECK-DAG: xor_zero: xor %[[P]], %{{[0-9]+}} : pred[4] -> %[[P]] = parameter
// CHECK-DAG: shift_zero: shift_left %[[I:[0-9]+]], %{{[0-9]+}} : s32[4] -> %[[I]] = parameter
// CHECK-DAG: twice: negate %{{[0-9]+}} : f32[4] -> %[[X]] = parameter
// CHECK-DAG: select_same: select %[[P]], %[[X]], %[[X]] : f32[4] -> %[[X]] = parameter
// CHECK-DAG: select_known: select %{{[0-9]+}}, %[[X]], %{{[0-9]+}} : f32[4] -> %[[X]] = parameter
// CHECK-DAG: small_power: power %[[X]], %{{[0-9]+}} : f32[4] -> %{{[0-9]+}} = multiply %[[X]], %[[X]] : f32[4]
// CHECK-DAG: share: negate %[[X]] : f32[4] -> %{{[0-9]+}} = negate %[[X]] : f32[4]
// CHECK: program @elementwise
module @elementwise {
  func.func @main(%x: tensor<4xf32>, %p: tensor<4xi1>, %i: tensor<4xi32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
    %minus_zero = stablehlo.constant dense<-0.0> : tensor<4xf32>
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %two = stablehlo.constant dense<2.0> : tensor<4xf32>
    %three = stablehlo.constant dense<3.0> : tensor<4xf32>
    %inf = stablehlo.constant dense<0x7F800000> : tensor<4xf32>
    %true = stablehlo.constant dense<true> : tensor<4xi1>
    %false = stablehlo.constant dense<false> : tensor<4xi1>
    %none = stablehlo.constant dense<0> : tensor<4xi32>
    %0 = stablehlo.multiply %two, %three : tensor<4xf32>
    %1 = stablehlo.convert %x : tensor<4xf32>
    %2 = stablehlo.add %x, %minus_zero : tensor<4xf32>
    %3 = stablehlo.subtract %x, %zero : tensor<4xf32>
    %4 = stablehlo.multiply %one, %x : tensor<4xf32>
    %5 = stablehlo.divide %x, %one : tensor<4xf32>
    %6 = stablehlo.divide %x, %two : tensor<4xf32>
    %7 = stablehlo.maximum %x, %x : tensor<4xf32>
    %8 = stablehlo.minimum %x, %inf : tensor<4xf32>
    %9 = stablehlo.and %p, %true : tensor<4xi1>
    %10 = stablehlo.xor %p, %false : tensor<4xi1>
    %11 = stablehlo.shift_left %i, %none : tensor<4xi32>
    %cancelled = stablehlo.subtract %i, %i : tensor<4xi32>
    %12 = stablehlo.negate %x : tensor<4xf32>
    %13 = stablehlo.negate %12 : tensor<4xf32>
    %14 = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
    %15 = stablehlo.select %true, %x, %zero : tensor<4xi1>, tensor<4xf32>
    %16 = stablehlo.power %x, %two : tensor<4xf32>
    %17 = stablehlo.negate %x : tensor<4xf32>
    return %16 : tensor<4xf32>
  }
}

// -----

// CHECK-DAG: empty_array: negate %{{[0-9]+}} : f32[0] -> %{{[0-9]+}} = constant 0x : f32[0]
// CHECK-DAG: view_of_splat: transpose %{{[0-9]+}} permutation=[1,0] : f32[5,3] -> %{{[0-9]+}} = constant splat
// CHECK-DAG: broadcast_identity: broadcast_in_dim %[[M:[0-9]+]] broadcast_dimensions=[0,1] : f32[3,5] -> %[[M]] = parameter
// CHECK-DAG: broadcast_of_broadcast: broadcast_in_dim %{{[0-9]+}} broadcast_dimensions=[1,2] : f32[2,3,7] -> %{{[0-9]+}} = broadcast_in_dim %[[V:[0-9]+]] broadcast_dimensions=[1] : f32[2,3,7]
// CHECK-DAG: broadcast_as_reshape: broadcast_in_dim %[[V]] broadcast_dimensions=[0] : f32[3,1] -> %{{[0-9]+}} = reshape %[[V]] : f32[3,1]
// CHECK-DAG: reshape_identity: reshape %[[M]] : f32[3,5] -> %[[M]] = parameter
// CHECK-DAG: reshape_of_reshape: reshape %{{[0-9]+}} : f32[5,3] -> %{{[0-9]+}} = reshape %[[M]] : f32[5,3]
// CHECK-DAG: reshape_of_constant: reshape %{{[0-9]+}} : s32[2,1] -> %{{[0-9]+}} = constant 0x0100000002000000 : s32[2,1]
// CHECK-DAG: transpose_identity: transpose %[[M]] permutation=[0,1] : f32[3,5] -> %[[M]] = parameter
// CHECK-DAG: transpose_of_transpose: transpose %{{[0-9]+}} permutation=[1,0] : f32[3,5] -> %[[M]] = parameter
// CHECK-DAG: transpose_as_reshape: transpose %{{[0-9]+}} permutation=[1,0] : f32[1,3] -> %{{[0-9]+}} = reshape %[[V]] : f32[1,3]
// CHECK-DAG: transpose_of_stack: transpose %{{[0-9]+}} permutation=[1,0] : f32[3,2] -> %{{[0-9]+}} = concatenate %{{[0-9]+}}, %{{[0-9]+}} dimension=1 : f32[3,2]
// CHECK-DAG: reverse_of_pad: reverse %{{[0-9]+}} dimensions=[0] : f32[6] -> %{{[0-9]+}} = pad %{{[0-9]+}}, {{.*}} edge_padding_low=[2] edge_padding_high=[1] interior_padding=[0] : f32[6]
// CHECK-DAG: reverse_nothing: reverse %[[R:[0-9]+]] dimensions=[1] : f32[3,1] -> %[[R]] = reshape
// CHECK-DAG: concatenate_nothing: concatenate %{{[0-9]+}}, %[[V]] dimension=0 : f32[3] -> %[[V]] = parameter
// CHECK-DAG: pad_nothing: pad %[[V]], %{{[0-9]+}} edge_padding_low=[0] edge_padding_high=[0] interior_padding=[0] : f32[3] -> %[[V]] = parameter
// CHECK-DAG: pad_of_nothing: pad %{{[0-9]+}}, %{{[0-9]+}} edge_padding_low=[2] {{.*}} : f32[2] -> %{{[0-9]+}} = constant splat
// CHECK-DAG: pad_negative: pad %[[V]], {{.*}} edge_padding_low=[-1] edge_padding_high=[0] {{.*}} : f32[2] -> %{{[0-9]+}} = slice %[[V]] start_indices=[1] limit_indices=[3] strides=[1] : f32[2]
// CHECK-DAG: pad_of_pad: pad %{{[0-9]+}}, %{{[0-9]+}} edge_padding_low=[1] edge_padding_high=[0] interior_padding=[1] : f32[10] -> %{{[0-9]+}} = pad %[[V]], {{.*}} edge_padding_low=[3] edge_padding_high=[2] interior_padding=[1]
// CHECK-DAG: slice_of_pad: slice %{{[0-9]+}} start_indices=[2] limit_indices=[9] strides=[2] : f32[4] -> %{{[0-9]+}} = pad %[[V]], {{.*}} edge_padding_low=[1] edge_padding_high=[0] interior_padding=[0] : f32[4]
// CHECK-DAG: slice_whole: slice %[[V]] start_indices=[0] limit_indices=[3] strides=[1] : f32[3] -> %[[V]] = parameter
// CHECK-DAG: slice_of_view: slice %{{[0-9]+}} start_indices=[3] limit_indices=[5] strides=[1] : f32[2] -> %{{[0-9]+}} = slice %[[V]] start_indices=[0] limit_indices=[2] strides=[1] : f32[2]
// CHECK-DAG: dynamic_slice_whole: dynamic_slice %[[V]], %{{[0-9]+}} : f32[3] -> %[[V]] = parameter
// CHECK-DAG: dynamic_slice_known: dynamic_slice %[[V]], %{{[0-9]+}} : f32[2] -> %{{[0-9]+}} = slice %[[V]] start_indices=[1] limit_indices=[3] strides=[1] : f32[2]
// CHECK-DAG: dynamic_slice_of_stack: dynamic_slice %{{[0-9]+}}, %{{[0-9]+}} : f32[1] -> %{{[0-9]+}} = select
// CHECK-DAG: gather_of_stack: gather %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : f32[2] -> %{{[0-9]+}} = select
// CHECK-DAG: dynamic_update_whole: dynamic_update_slice %{{[0-9]+}}, %[[V]], %{{[0-9]+}} : f32[3] -> %[[V]] = parameter
// CHECK-DAG: dynamic_update_nothing: dynamic_update_slice %[[V]], %{{[0-9]+}}, %{{[0-9]+}} : f32[3] -> %[[V]] = parameter
// CHECK-DAG: product_of_nothing: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : f32[1,3,2] -> %{{[0-9]+}} = constant splat 0x00000000 : f32[1,3,2]
// CHECK: program @views
module @views {
  func.func @main(%m: tensor<3x5xf32>, %v: tensor<3xf32>, %e: tensor<0xf32>, %at: tensor<i32>) -> tensor<3xf32> {
    %splat = stablehlo.constant dense<2.0> : tensor<3x5xf32>
    %numbers = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %f = stablehlo.constant dense<4.0> : tensor<f32>
    %0 = stablehlo.negate %e : tensor<0xf32>
    %1 = stablehlo.transpose %splat, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    %2 = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %3 = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<3xf32>) -> tensor<3x7xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1, 2] : (tensor<3x7xf32>) -> tensor<2x3x7xf32>
    %5 = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %6 = stablehlo.reshape %m : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %7 = stablehlo.reshape %m : (tensor<3x5xf32>) -> tensor<15xf32>
    %8 = stablehlo.reshape %7 : (tensor<15xf32>) -> tensor<5x3xf32>
    %9 = stablehlo.reshape %numbers : (tensor<2xi32>) -> tensor<2x1xi32>
    %10 = stablehlo.transpose %m, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %11 = stablehlo.transpose %m, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    %12 = stablehlo.transpose %11, dims = [1, 0] : (tensor<5x3xf32>) -> tensor<3x5xf32>
    %13 = stablehlo.transpose %5, dims = [1, 0] : (tensor<3x1xf32>) -> tensor<1x3xf32>
    %14 = stablehlo.reverse %5, dims = [1] : tensor<3x1xf32>
    %15 = stablehlo.concatenate %e, %v, dim = 0 : (tensor<0xf32>, tensor<3xf32>) -> tensor<3xf32>
    %16 = stablehlo.pad %v, %f, low = [0], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %17 = stablehlo.pad %e, %f, low = [2], high = [0], interior = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
    %18 = stablehlo.pad %v, %f, low = [-1], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
    %p0 = stablehlo.pad %v, %f, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
    %p1 = stablehlo.pad %p0, %f, low = [1], high = [0], interior = [1] : (tensor<5xf32>, tensor<f32>) -> tensor<10xf32>
    %p2 = stablehlo.pad %v, %f, low = [4], high = [2], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<11xf32>
    %p3 = stablehlo.slice %p2 [2:9:2] : (tensor<11xf32>) -> tensor<4xf32>
    %19 = stablehlo.slice %v [0:3] : (tensor<3xf32>) -> tensor<3xf32>
    %20 = stablehlo.concatenate %v, %v, dim = 0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
    %21 = stablehlo.slice %20 [3:5] : (tensor<6xf32>) -> tensor<2xf32>
    %22 = stablehlo.dynamic_slice %v, %at, sizes = [3] : (tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
    %23 = stablehlo.dynamic_slice %v, %one, sizes = [2] : (tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
    %s0 = stablehlo.slice %v [0:1] : (tensor<3xf32>) -> tensor<1xf32>
    %s1 = stablehlo.negate %s0 : tensor<1xf32>
    %s2 = stablehlo.concatenate %s0, %s1, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    %s3 = stablehlo.dynamic_slice %s2, %at, sizes = [1] : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
    %s4 = stablehlo.broadcast_in_dim %at, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %s5 = "stablehlo.gather"(%s2, %s4) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
    %24 = stablehlo.negate %v : tensor<3xf32>
    %25 = stablehlo.dynamic_update_slice %24, %v, %at : (tensor<3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
    %26 = stablehlo.dynamic_update_slice %v, %e, %at : (tensor<3xf32>, tensor<0xf32>, tensor<i32>) -> tensor<3xf32>
    %n0 = stablehlo.reshape %e : (tensor<0xf32>) -> tensor<1x4x0xf32>
    %n1 = stablehlo.reshape %e : (tensor<0xf32>) -> tensor<2x0x2xf32>
    %n2 = stablehlo.convolution(%n0, %n1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x0xf32>, tensor<2x0x2xf32>) -> tensor<1x3x2xf32>
    %27 = stablehlo.reshape %v : (tensor<3xf32>) -> tensor<1x3xf32>
    %28 = stablehlo.reshape %24 : (tensor<3xf32>) -> tensor<1x3xf32>
    %29 = stablehlo.concatenate %27, %28, dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
    %30 = stablehlo.transpose %29, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %31 = stablehlo.pad %v, %f, low = [1], high = [2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
    %32 = stablehlo.reverse %31, dims = [0] : tensor<6xf32>
    return %26 : tensor<3xf32>
  }
}

// -----

// CHECK-DAG: written_out_product: dot_general %{{[0-9]+}}, %{{[0-9]+}} lhs_contracting_dimensions=[1] rhs_contracting_dimensions=[0] : f32[2,2] -> %{{[0-9]+}} = reduce
// CHECK-DAG: part_of_complex: imag %{{[0-9]+}} : f32[40,50] -> %{{[0-9]+}} = parameter
// CHECK-DAG: complex_parts: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1] : c64[40] -> %{{[0-9]+}} = complex
// CHECK-DAG: reduce_nothing: reduce %{{[0-9]+}}, %[[Z:[0-9]+]] dimensions=[0] : f32[] -> %[[Z]] = constant
// CHECK-DAG: reduce_transposed: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[40] -> %{{[0-9]+}} = reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1] : f32[40]
// CHECK-DAG: long_reduce: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[] -> %{{[0-9]+}} = reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[]
// CHECK-DAG: long_scan: reduce_window %{{[0-9]+}}, {{.*}} window_dimensions=[131072] {{.*}} : f32[131072] -> %{{[0-9]+}} = reshape
// CHECK-DAG: turned_scan: reduce_window %{{[0-9]+}}, {{.*}} window_dimensions=[1,50] {{.*}} : f32[40,50] -> %{{[0-9]+}} = transpose
// CHECK-DAG: repeated_window: reduce_window %{{[0-9]+}}, {{.*}} window_dimensions=[1,2] {{.*}} : f32[40,100] -> %{{[0-9]+}} = reshape
// CHECK-DAG: written_out_window: reduce_window %{{[0-9]+}}, {{.*}} window_dimensions=[1,2] {{.*}} : f32[40,49] -> %{{[0-9]+}} = add
// CHECK-DAG: written_out_convolution: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} feature_group_count=1 batch_group_count=1 : f32[1,8,1] -> %{{[0-9]+}} = add
// CHECK-DAG: written_out_convolution: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} feature_group_count=3 batch_group_count=1 : f32[1,8,3] -> %{{[0-9]+}} = add
// CHECK-DAG: written_out_select_and_scatter: select_and_scatter %{{[0-9]+}}, {{.*}} : f32[40,50] -> %{{[0-9]+}} = add
// CHECK: program @sums
module @sums {
  func.func @main(%a: tensor<2x2xf32>, %x: tensor<40x50xf32>, %y: tensor<40x50xf32>, %e: tensor<0xf32>, %l: tensor<131072xf32>, %c: tensor<1x10x3xf32>, %k: tensor<3x1x3xf32>,
                  %s: tensor<20x25xf32>) -> tensor<f32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %cz = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
    %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.complex %x, %y : tensor<40x50xcomplex<f32>>
    %2 = stablehlo.reduce(%1 init: %cz) applies stablehlo.add across dimensions = [1] : (tensor<40x50xcomplex<f32>>, tensor<complex<f32>>) -> tensor<40xcomplex<f32>>
    %3 = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x50xf32>) -> tensor<50x40xf32>
    %5 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<50x40xf32>, tensor<f32>) -> tensor<40xf32>
    %6 = stablehlo.reduce(%l init: %z) applies stablehlo.add across dimensions = [0] : (tensor<131072xf32>, tensor<f32>) -> tensor<f32>
    %7 = "stablehlo.reduce_window"(%l, %z) <{window_dimensions = array<i64: 131072>, padding = dense<[[131071, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<131072xf32>, tensor<f32>) -> tensor<131072xf32>
    %8 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<40x50xf32>, tensor<f32>) -> tensor<40x49xf32>
    %k3 = stablehlo.reshape %k : (tensor<3x1x3xf32>) -> tensor<3x3x1xf32>
    %one = stablehlo.convolution(%c, %k3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
       : (tensor<1x10x3xf32>, tensor<3x3x1xf32>) -> tensor<1x8x1xf32>
    %9 = stablehlo.convolution(%c, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 3 : i64, batch_group_count = 1 : i64}
       : (tensor<1x10x3xf32>, tensor<3x1x3xf32>) -> tensor<1x8x3xf32>
    %10 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
    }, {
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<40x50xf32>, tensor<20x25xf32>, tensor<f32>) -> tensor<40x50xf32>
    %11 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>, base_dilations = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<40x50xf32>, tensor<f32>) -> tensor<40x100xf32>
    %12 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 50>, padding = dense<[[0, 0], [49, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<40x50xf32>, tensor<f32>) -> tensor<40x50xf32>
    return %6 : tensor<f32>
  }
}

// -----

// CHECK-DAG: empty_results: sort {{.*}} -> constants
// CHECK-DAG: first_extreme: reduce %{{[0-9]+}}, {{.*}} : f32[40] s32[40] -> %{{[0-9]+}} = reduce {{.*}}, %{{[0-9]+}} = reduce
// CHECK-DAG: sort_of_one: sort %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : f32[9,1] -> operands
// CHECK-DAG: known_case: case 1 -> its 1 operations
// CHECK-DAG: unroll: while of 2 carries -> 3 trips
// CHECK-DAG: fixed_carry: carry 2 -> %{{[0-9]+}} = parameter : f32[16,16]
// CHECK-DAG: hoist: %{{[0-9]+}} = exponential %{{[0-9]+}} : f32[16,16] -> before the loop
// CHECK-DAG: hoist_product: dot_general {{.*}} : f32[16,16] -> %{{[0-9]+}} = reshape %{{[0-9]+}} : f32[16,16]
// CHECK-DAG: take_first: sort {{.*}} : f32[100] -> sort {{.*}} : f32[3]
// CHECK: program @several
module @several {
  func.func @main(%x: tensor<40x50xf32>, %e: tensor<0xf32>, %l: tensor<100xf32>, %short: tensor<9xf32>, %n: tensor<6x16x16xf32>, %w: tensor<16x16xf32>) -> (tensor<40xi32>, tensor<f32>, tensor<16x16xf32>, tensor<3xf32>) {
    %0:2 = "stablehlo.sort"(%e, %e) <{dimension = 0 : i64}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<f32>, %s: tensor<f32>):
      %t = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }) : (tensor<0xf32>, tensor<0xf32>) -> (tensor<0xf32>, tensor<0xf32>)
    %single = stablehlo.reshape %short : (tensor<9xf32>) -> tensor<9x1xf32>
    %in_order = "stablehlo.sort"(%single) <{dimension = 1 : i64}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }) : (tensor<9x1xf32>) -> tensor<9x1xf32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %places = stablehlo.iota dim = 1 : tensor<40x50xi32>
    %1:2 = stablehlo.reduce(%x init: %lowest), (%places init: %zero) across dimensions = [1] : (tensor<40x50xf32>, tensor<40x50xi32>, tensor<f32>, tensor<i32>) -> (tensor<40xf32>, tensor<40xi32>)
     reducer(%p: tensor<f32>, %q: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %gt = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %ne = stablehlo.compare NE, %p, %p, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %first = stablehlo.or %gt, %ne : tensor<i1>
      %eq = stablehlo.compare EQ, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %lt = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %both = stablehlo.and %eq, %lt : tensor<i1>
      %place = stablehlo.or %first, %both : tensor<i1>
      %v = stablehlo.select %first, %p, %q : tensor<i1>, tensor<f32>
      %k = stablehlo.select %place, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    }
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2 = "stablehlo.case"(%one) ({
      stablehlo.return %l : tensor<100xf32>
    }, {
      %neg = stablehlo.negate %l : tensor<100xf32>
      stablehlo.return %neg : tensor<100xf32>
    }) : (tensor<i32>) -> tensor<100xf32>
    %f = stablehlo.constant dense<1.5> : tensor<f32>
    %3:2 = stablehlo.while(%i = %zero, %c = %f) : tensor<i32>, tensor<f32>
     cond {
      %m = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %d = stablehlo.multiply %c, %c : tensor<f32>
      stablehlo.return %j, %d : tensor<i32>, tensor<f32>
    }
    %start = stablehlo.constant dense<0.5> : tensor<16x16xf32>
    %4:3 = stablehlo.while(%i = %zero, %c = %start, %u = %w) : tensor<i32>, tensor<16x16xf32>, tensor<16x16xf32>
     cond {
      %m = stablehlo.constant dense<6> : tensor<i32>
      %t = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.dynamic_slice %n, %i, %zero, %zero, sizes = [1, 16, 16] : (tensor<6x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
      %si = stablehlo.reshape %s : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
      %d = stablehlo.dot_general %si, %u, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
      %g = stablehlo.exponential %u : tensor<16x16xf32>
      %h = stablehlo.add %c, %g : tensor<16x16xf32>
      %o = stablehlo.add %h, %d : tensor<16x16xf32>
      stablehlo.return %j, %o, %u : tensor<i32>, tensor<16x16xf32>, tensor<16x16xf32>
    }
    %5 = "stablehlo.sort"(%2) <{dimension = 0 : i64}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }) : (tensor<100xf32>) -> tensor<100xf32>
    %6 = stablehlo.slice %5 [0:3] : (tensor<100xf32>) -> tensor<3xf32>
    return %1#1, %3#1, %4#1, %6 : tensor<40xi32>, tensor<f32>, tensor<16x16xf32>, tensor<3xf32>
  }
}

// -----

// CHECK-DAG: wider_product: dot_general %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : s16[90,50] -> %{{[0-9]+}} = convert
// CHECK-DAG: wider_convolution: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : s8[1,9,9,7] -> %{{[0-9]+}} = convert
// CHECK-DAG: wider_window: reduce_window %{{[0-9]+}}, {{.*}} : bf16[6,6] -> %{{[0-9]+}} = convert
// CHECK-DAG: wider_reduce: reduce %{{[0-9]+}}, {{.*}} : bf16[] -> %{{[0-9]+}} = convert
// CHECK-DAG: window_in_passes: reduce_window %{{[0-9]+}}, {{.*}} window_dimensions=[20,10] {{.*}} : f32[21,31] ->
// CHECK-DAG: spelled_window: reduce_window %{{[0-9]+}}, {{.*}} window_dimensions=[2,1] {{.*}} : f32[39,40] -> %{{[0-9]+}} = sqrt
// CHECK-DAG: windows_of_several: reduce_window {{.*}} -> %{{[0-9]+}} = select
module {
  func.func @main(%a: tensor<90x70xi16>, %b: tensor<70x50xi16>, %h: tensor<12x12xbf16>, %x: tensor<40x40xf32>,
                  %image: tensor<1x9x9x5xi8>, %window: tensor<3x3x5x7xi8>)
      -> (tensor<90x50xi16>, tensor<1x9x9x7xi8>, tensor<6x6xbf16>, tensor<bf16>, tensor<21x31xf32>, tensor<39x40xf32>, tensor<40x10xf32>, tensor<40x10xi32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<90x70xi16>, tensor<70x50xi16>) -> tensor<90x50xi16>
    %hz = stablehlo.constant dense<0.0> : tensor<bf16>
    %1 = "stablehlo.reduce_window"(%h, %hz) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
      %s = stablehlo.add %p, %q : tensor<bf16>
      stablehlo.return %s : tensor<bf16>
    }) : (tensor<12x12xbf16>, tensor<bf16>) -> tensor<6x6xbf16>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %2 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 20, 10>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<40x40xf32>, tensor<f32>) -> tensor<21x31xf32>
    %3 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2, 1>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %pp = stablehlo.multiply %p, %p : tensor<f32>
      %qq = stablehlo.multiply %q, %q : tensor<f32>
      %s = stablehlo.add %pp, %qq : tensor<f32>
      %t = stablehlo.sqrt %s : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) : (tensor<40x40xf32>, tensor<f32>) -> tensor<39x40xf32>
    %i = stablehlo.iota dim = 1 : tensor<40x40xi32>
    %iz = stablehlo.constant dense<0> : tensor<i32>
    %4:2 = "stablehlo.reduce_window"(%x, %i, %z, %iz) <{window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 4>}> ({
    ^bb0(%p: tensor<f32>, %pi: tensor<i32>, %q: tensor<f32>, %qi: tensor<i32>):
      %c = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v = stablehlo.select %c, %p, %q : tensor<i1>, tensor<f32>
      %w = stablehlo.select %c, %pi, %qi : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }) : (tensor<40x40xf32>, tensor<40x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<40x10xf32>, tensor<40x10xi32>)
    %5 = stablehlo.convolution(%image, %window) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x9x5xi8>, tensor<3x3x5x7xi8>) -> tensor<1x9x9x7xi8>
    %6 = stablehlo.reduce(%h init: %hz) applies stablehlo.add across dimensions = [0, 1] : (tensor<12x12xbf16>, tensor<bf16>) -> tensor<bf16>
    return %0, %5, %1, %6, %2, %3, %4#0, %4#1 : tensor<90x50xi16>, tensor<1x9x9x7xi8>, tensor<6x6xbf16>, tensor<bf16>, tensor<21x31xf32>, tensor<39x40xf32>, tensor<40x10xf32>, tensor<40x10xi32>
  }
}

// -----

// CHECK-DAG: view_of_constant: concatenate %{{[0-9]+}}, %{{[0-9]+}} dimension=0 : s32[2] -> %{{[0-9]+}} = constant 0x0200000003000000 : s32[2]
// CHECK-DAG: known_reduce: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1] : pred[3] -> %{{[0-9]+}} = constant splat 0x01 : pred[3]
// CHECK-DAG: known_gather: gather %[[X:[0-9]+]], {{.*}} : f32[6,3] -> %{{[0-9]+}} = reverse %[[X]] dimensions=[1] : f32[6,3]
// CHECK-DAG: known_gather: gather %[[X]], {{.*}} : f32[6,2] -> %{{[0-9]+}} = slice %[[X]] start_indices=[0,0] limit_indices=[6,3] strides=[1,2] : f32[6,2]
// CHECK-DAG: known_scatter: scatter %{{[0-9]+}}, {{.*}} : f32[6,3] -> %{{[0-9]+}} = select
// CHECK-DAG: known_scatter: scatter %{{[0-9]+}}, {{.*}} : f32[6,3] -> %{{[0-9]+}} = pad
// CHECK: program @places
module @places {
  func.func @main(%x: tensor<6x3xf32>, %u: tensor<f32>)
      -> (tensor<6x3xf32>, tensor<6x2xf32>, tensor<6x3xf32>, tensor<6x3xf32>, tensor<3xi1>) {
    %zero = stablehlo.constant dense<0> : tensor<3x1xi32>
    %down = stablehlo.constant dense<[[2], [1], [0]]> : tensor<3x1xi32>
    %in = stablehlo.compare GE, %down, %zero : (tensor<3x1xi32>, tensor<3x1xi32>) -> tensor<3x1xi1>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %all = stablehlo.reduce(%in init: %true) applies stablehlo.and across dimensions = [1] : (tensor<3x1xi1>, tensor<i1>) -> tensor<3xi1>
    %0 = "stablehlo.gather"(%x, %down) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 6, 1>}> : (tensor<6x3xf32>, tensor<3x1xi32>) -> tensor<6x3xf32>
    %ends = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
    %1 = "stablehlo.gather"(%x, %ends) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 6, 1>}> : (tensor<6x3xf32>, tensor<2x1xi32>) -> tensor<6x2xf32>
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %three = stablehlo.constant dense<3> : tensor<1xi32>
    %at = stablehlo.concatenate %two, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %turned = stablehlo.reverse %at, dims = [0] : tensor<2xi32>
    %place = stablehlo.slice %turned [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    %row = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %y = stablehlo.negate %x : tensor<6x3xf32>
    %2 = "stablehlo.scatter"(%y, %place, %row) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<6x3xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<6x3xf32>
    %ones = stablehlo.constant dense<1.0> : tensor<6x3xf32>
    %3 = "stablehlo.scatter"(%ones, %place, %row) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<6x3xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<6x3xf32>
    return %0, %1, %2, %3, %all : tensor<6x3xf32>, tensor<6x2xf32>, tensor<6x3xf32>, tensor<6x3xf32>, tensor<3xi1>
  }
}

// -----

// CHECK-DAG: gathered_window: reduce_window %{{[0-9]+}}, {{.*}} window_dimensions=[11,11] {{.*}} : f32[30,30] -> %{{[0-9]+}} = reduce
// CHECK-DAG: windows_of_several: reduce_window {{.*}} -> %{{[0-9]+}}#0 = reduce
// CHECK-DAG: gathered_select_and_scatter: select_and_scatter %{{[0-9]+}}, {{.*}} window_dimensions=[9,9] {{.*}} : f32[40,40] -> %{{[0-9]+}} = reshape
module @large_windows {
  func.func @main(%x: tensor<40x40xf32>, %i: tensor<40x40xi32>, %s: tensor<16x16xf32>) -> (tensor<30x30xf32>, tensor<30x30xi32>, tensor<40x40xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %iz = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 11, 11>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %n = stablehlo.negate %p : tensor<f32>
      %r = stablehlo.add %n, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<40x40xf32>, tensor<f32>) -> tensor<30x30xf32>
    %1:2 = "stablehlo.reduce_window"(%x, %i, %z, %iz) <{window_dimensions = array<i64: 11, 11>}> ({
    ^bb0(%p: tensor<f32>, %pi: tensor<i32>, %q: tensor<f32>, %qi: tensor<i32>):
      %c = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v = stablehlo.select %c, %p, %q : tensor<i1>, tensor<f32>
      %w = stablehlo.select %c, %pi, %qi : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }) : (tensor<40x40xf32>, tensor<40x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<30x30xf32>, tensor<30x30xi32>)
    %2 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 9, 9>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
    }, {
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<40x40xf32>, tensor<16x16xf32>, tensor<f32>) -> tensor<40x40xf32>
    return %0, %1#1, %2 : tensor<30x30xf32>, tensor<30x30xi32>, tensor<40x40xf32>
  }
}

// -----

// CHECK-DAG: reduce_stack: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[4] -> %{{[0-9]+}} = maximum %{{[0-9]+}}, %{{[0-9]+}} : f32[4]
// CHECK: program @stacked
module @stacked {
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %1 = stablehlo.reshape %y : (tensor<4xf32>) -> tensor<1x4xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.reduce(%2 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}

// -----

// An exponential of what each trip takes, a logarithm of what it makes, a matrix to which it adds a product.
// CHECK-DAG: early: %{{[0-9]+}} = exponential %{{[0-9]+}} : f32[1,20] -> for all 300 trips before the loop
// CHECK-DAG: late: %{{[0-9]+}} = log_plus_one %{{[0-9]+}} : f32[1,20] -> for all 300 trips behind the loop
// CHECK-DAG: late_product: %{{[0-9]+}} = reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[2] : f32[20,20] -> one product of 300 trips behind the loop
// CHECK: program @trips
module @trips {
  func.func @main(%xs: tensor<300x20xf32>, %s: tensor<1x20xf32>, %w: tensor<20x20xf32>) -> (tensor<300x20xf32>, tensor<20x20xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %none = stablehlo.constant dense<0.0> : tensor<300x20xf32>
    %r:4 = stablehlo.while(%i = %zero, %s0 = %s, %ys = %none, %w0 = %w) : tensor<i32>, tensor<1x20xf32>, tensor<300x20xf32>, tensor<20x20xf32>
    cond {
      %all = stablehlo.constant dense<300> : tensor<i32>
      %go = stablehlo.compare LT, %i, %all, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %x = stablehlo.dynamic_slice %xs, %i, %zero, sizes = [1, 20] : (tensor<300x20xf32>, tensor<i32>, tensor<i32>) -> tensor<1x20xf32>
      %e = stablehlo.exponential %x : tensor<1x20xf32>
      %s1 = stablehlo.subtract %e, %s0 : tensor<1x20xf32>
      %y = stablehlo.log_plus_one %s1 : tensor<1x20xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %y, %i, %zero : (tensor<300x20xf32>, tensor<1x20xf32>, tensor<i32>, tensor<i32>) -> tensor<300x20xf32>
      %p = stablehlo.dot_general %s1, %x, contracting_dims = [0] x [0] : (tensor<1x20xf32>, tensor<1x20xf32>) -> tensor<20x20xf32>
      %w1 = stablehlo.add %w0, %p : tensor<20x20xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %s1, %ys1, %w1 : tensor<i32>, tensor<1x20xf32>, tensor<300x20xf32>, tensor<20x20xf32>
    }
    return %r#2, %r#3 : tensor<300x20xf32>, tensor<20x20xf32>
  }
}

// -----

// A time to which each trip adds a step, and what is made of it.
// CHECK-DAG: chain: carry 1 -> a loop of its own, of 900 trips
// CHECK-DAG: early: %{{[0-9]+}} = cosine %{{[0-9]+}} : f32[] -> for all 900 trips before the loop
// CHECK: program @chain
module @chain {
  func.func @main(%start: tensor<f32>, %s: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = stablehlo.while(%i = %zero, %t = %start, %s0 = %s) : tensor<i32>, tensor<f32>, tensor<f32>
    cond {
      %all = stablehlo.constant dense<900> : tensor<i32>
      %go = stablehlo.compare LT, %i, %all, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %wave = stablehlo.cosine %t : tensor<f32>
      %force = stablehlo.exponential %wave : tensor<f32>
      %fall = stablehlo.multiply %s0, %force : tensor<f32>
      %s1 = stablehlo.subtract %s0, %fall : tensor<f32>
      %step = stablehlo.constant dense<0.01> : tensor<f32>
      %t1 = stablehlo.add %t, %step : tensor<f32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %t1, %s1 : tensor<i32>, tensor<f32>, tensor<f32>
    }
    return %r#1, %r#2 : tensor<f32>, tensor<f32>
  }
}

// -----

// CHECK-DAG: whole_window: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : f32[50,1,1,4] -> %{{[0-9]+}} = reshape
// CHECK: program @whole_window
// CHECK: %[[D:[0-9]+]] = dot_general {{.*}} lhs_contracting_dimensions=[3,1,2] rhs_contracting_dimensions=[2,0,1] : f32[4,50]
// CHECK: %[[T:[0-9]+]] = transpose %[[D]] {{.*}} : f32[50,4]
// CHECK: reshape %[[T]] : f32[50,1,1,4]
module @whole_window {
  func.func @main(%x: tensor<4x6x7x30xf32>, %w: tensor<6x7x30x50xf32>) -> tensor<50x1x1x4xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[f, 0, 1, b], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
       : (tensor<4x6x7x30xf32>, tensor<6x7x30x50xf32>) -> tensor<50x1x1x4xf32>
    return %0 : tensor<50x1x1x4xf32>
  }
}

// -----

// CHECK-DAG: pointwise_convolution: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : f32[4,6,7,50] -> %{{[0-9]+}} = dot_general
// CHECK-DAG: pointwise_convolution: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : f32[4,6,7,30] -> %{{[0-9]+}} = dot_general
// CHECK: program @pointwise_convolution
// CHECK: dot_general {{.*}} lhs_contracting_dimensions=[3] rhs_contracting_dimensions=[0] : f32[4,6,7,50]
// CHECK: dot_general {{.*}} lhs_contracting_dimensions=[3] rhs_contracting_dimensions=[1] : f32[4,6,7,30]
module @pointwise_convolution {
  func.func @main(%x: tensor<4x6x7x30xf32>, %w: tensor<1x1x30x50xf32>, %v: tensor<1x1x30x50xf32>) -> tensor<4x6x7x30xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
       : (tensor<4x6x7x30xf32>, tensor<1x1x30x50xf32>) -> tensor<4x6x7x50xf32>
    %1 = stablehlo.convolution(%0, %v) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
       : (tensor<4x6x7x50xf32>, tensor<1x1x30x50xf32>) -> tensor<4x6x7x30xf32>
    return %1 : tensor<4x6x7x30xf32>
  }
}

// -----

// A window that is larger than its input changes places with it, and results are mirrored where it was not.
// CHECK-DAG: traded_window: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} padding_low=[19,8] padding_high=[19,6] {{.*}} : f32[2,21,9,60] -> %{{[0-9]+}} = reverse {{.*}} dimensions=[1]
// CHECK: program @traded_window
// CHECK: convolution %1, %0 input_batch_dimension=3 input_feature_dimension=2 {{.*}} padding_low=[1,2] padding_high=[1,0]
module @traded_window {
  func.func @main(%x: tensor<2x2x3x30xf32>, %w: tensor<20x9x30x60xf32>) -> tensor<2x21x9x60xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[19, 19], [8, 6]], reverse = [false, true]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
       : (tensor<2x2x3x30xf32>, tensor<20x9x30x60xf32>) -> tensor<2x21x9x60xf32>
    return %0 : tensor<2x21x9x60xf32>
  }
}

// -----

// CHECK-DAG: added_update: add %{{[0-9]+}}, %{{[0-9]+}} : f32[50,20] -> %{{[0-9]+}} = dynamic_update_slice %[[CARRY:[0-9]+]],
// CHECK: program @added_update
// CHECK: while
// CHECK: %[[CARRY]] = parameter : f32[50,20]
// CHECK: %[[OLD:[0-9]+]] = dynamic_slice %[[CARRY]], %{{[0-9]+}}, %{{[0-9]+}} : f32[2,20]
// CHECK: %[[SUM:[0-9]+]] = add %[[OLD]],
// CHECK: dynamic_update_slice %[[CARRY]], %[[SUM]],
module @added_update {
  func.func @main(%x: tensor<50x20xf32>, %u: tensor<2x20xf32>, %n: tensor<i32>) -> tensor<50x20xf32> {
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<50x20xf32>
    %r:2 = stablehlo.while(%i = %i0, %c = %x) : tensor<i32>, tensor<50x20xf32>
     cond {
      %t = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %d = stablehlo.dynamic_update_slice %zeros, %u, %i, %i0 : (tensor<50x20xf32>, tensor<2x20xf32>, tensor<i32>, tensor<i32>) -> tensor<50x20xf32>
      %s = stablehlo.add %c, %d : tensor<50x20xf32>
      stablehlo.return %j, %s : tensor<i32>, tensor<50x20xf32>
    }
    return %r#1 : tensor<50x20xf32>
  }
}

// -----

// What is computed point by point of a transposed value is computed before the transpose.
// CHECK-DAG: reduce_transposed: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1] : f32[50] -> %{{[0-9]+}} = reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[50]
// CHECK: program @reduce_of_turned
// CHECK: abs {{.*}} : f32[40,50]
module @reduce_of_turned {
  func.func @main(%x: tensor<40x50xf32>) -> tensor<50xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<40x50xf32>) -> tensor<50x40xf32>
    %1 = stablehlo.abs %0 : tensor<50x40xf32>
    %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<50x40xf32>, tensor<f32>) -> tensor<50xf32>
    return %2 : tensor<50xf32>
  }
}

// -----

// CHECK-DAG: reduce_repeated: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0,1] : f32[5] -> %{{[0-9]+}} = add
// CHECK-DAG: reduce_repeated: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1] : s32[6] -> %{{[0-9]+}} = reduce
// CHECK: program @repeated
module @repeated {
  func.func @main(%x: tensor<6x5xf32>, %y: tensor<6xi32>) -> (tensor<5xf32>, tensor<6xi32>) {
    %z = stablehlo.constant dense<1.0> : tensor<f32>
    %i = stablehlo.constant dense<-3> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<6x5xf32>) -> tensor<6x700x5xf32>
    %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x700x5xf32>, tensor<f32>) -> tensor<5xf32>
    %2 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<6xi32>) -> tensor<6x40xi32>
    %3 = stablehlo.reduce(%2 init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<6x40xi32>, tensor<i32>) -> tensor<6xi32>
    return %1, %3 : tensor<5xf32>, tensor<6xi32>
  }
}

// -----

// A length that no block divides: whole blocks, and a shorter one. What is summed is computed in these parts, with all that nobody
// else needs; %y is somebody else's, and the row of %w is needed whole.
// CHECK-DAG: long_reduce: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[] -> %{{[0-9]+}} = reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[]
// CHECK-DAG: compute_in_parts: slice %{{[0-9]+}} start_indices=[0] limit_indices=[98304] strides=[1] : f32[98304] -> add
// CHECK-DAG: compute_in_parts: slice %{{[0-9]+}} start_indices=[98304] limit_indices=[100003] strides=[1] : f32[1699] -> add
// CHECK: program @uneven
// CHECK-DAG: %[[Y:[0-9]+]] = cosine %{{[0-9]+}} : f32[100003]
// CHECK-DAG: slice %[[Y]] start_indices=[98304] limit_indices=[100003] strides=[1] : f32[1699]
// CHECK-DAG: %[[E:[0-9]+]] = exponential %{{[0-9]+}} : f32[98304,40]
// CHECK-DAG: multiply %[[E]], %[[E]] : f32[98304,40]
// CHECK-DAG: exponential %{{[0-9]+}} : f32[1699,40]
// CHECK-DAG: concatenate %{{[0-9]+}}, %{{[0-9]+}} dimension=0 : f32[13]
// CHECK-NOT: exponential %{{[0-9]+}} : f32[100003,40]
module @uneven {
  func.func @main(%x: tensor<100003xf32>, %v: tensor<40x100003xf32>, %w: tensor<40xf32>) -> (tensor<f32>, tensor<100003xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %y = stablehlo.cosine %x : tensor<100003xf32>
    %0 = stablehlo.transpose %v, dims = [1, 0] : (tensor<40x100003xf32>) -> tensor<100003x40xf32>
    %1 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<40xf32>) -> tensor<100003x40xf32>
    %2 = stablehlo.add %0, %1 : tensor<100003x40xf32>
    %3 = stablehlo.exponential %2 : tensor<100003x40xf32>
    %4 = stablehlo.multiply %3, %3 : tensor<100003x40xf32>
    %5 = stablehlo.reduce(%4 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<100003x40xf32>, tensor<f32>) -> tensor<100003xf32>
    %6 = stablehlo.add %5, %y : tensor<100003xf32>
    %7 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<100003xf32>, tensor<f32>) -> tensor<f32>
    return %7, %y : tensor<f32>, tensor<100003xf32>
  }
}

// -----

// Also where a reduction of two arrays has its part second; what is reduced first stays.
// CHECK-DAG: compute_in_parts: slice %{{[0-9]+}} start_indices=[0,0] limit_indices=[4,16] strides=[1,1] : s32[4,16] -> abs
// CHECK-DAG: compute_in_parts: slice %{{[0-9]+}} start_indices=[4,0] limit_indices=[8,16] strides=[1,1] : s32[4,16] -> abs
// CHECK: program @parts_beside_others
// CHECK: %[[ONE:[0-9]+]] = abs %{{[0-9]+}} : s32[4,16]
// CHECK: %[[OTHER:[0-9]+]] = abs %{{[0-9]+}} : s32[4,16]
// CHECK: reduce %[[B:[0-9]+]], %[[ONE]], %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1]
// CHECK: reduce %[[B]], %[[OTHER]], %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1]
module @parts_beside_others {
  func.func @main(%a: tensor<8x16xi32>, %b: tensor<4x16xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %w = stablehlo.abs %a : tensor<8x16xi32>
    %s0 = stablehlo.slice %w [0:4, 0:16] : (tensor<8x16xi32>) -> tensor<4x16xi32>
    %s1 = stablehlo.slice %w [4:8, 0:16] : (tensor<8x16xi32>) -> tensor<4x16xi32>
    %r0:2 = "stablehlo.reduce"(%b, %s0, %z, %z) <{dimensions = array<i64: 1>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<i32>, %v: tensor<i32>):
      %p = stablehlo.add %x, %u : tensor<i32>
      %q = stablehlo.multiply %v, %u : tensor<i32>
      %t = stablehlo.add %y, %q : tensor<i32>
      stablehlo.return %p, %t : tensor<i32>, tensor<i32>
    }) : (tensor<4x16xi32>, tensor<4x16xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
    %r1:2 = "stablehlo.reduce"(%b, %s1, %z, %z) <{dimensions = array<i64: 1>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<i32>, %v: tensor<i32>):
      %p = stablehlo.add %x, %u : tensor<i32>
      %q = stablehlo.multiply %v, %u : tensor<i32>
      %t = stablehlo.add %y, %q : tensor<i32>
      stablehlo.return %p, %t : tensor<i32>, tensor<i32>
    }) : (tensor<4x16xi32>, tensor<4x16xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
    return %r0#0, %r0#1, %r1#0, %r1#1 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
  }
}

// -----

// Rows from memory: a driver fetches them ahead.
// CHECK: program @rows
// CHECK-NEXT: %0 = parameter : f32[4096,4096]
// CHECK-NEXT: %1 = parameter : f32[4096]
// CHECK-NEXT: %{{[0-9]+}} = dot_general %0, %1
module @rows {
  func.func @main(%a: tensor<4096x4096xf32>, %x: tensor<4096xf32>) -> tensor<4096xf32> {
    %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %0 : tensor<4096xf32>
  }
}

// -----

// A reflected border is one concatenation along each dim.
// CHECK-DAG: join_concatenations: concatenate %{{[0-9]+}}, %{{[0-9]+}} dimension=0 : f32[1030,1024] -> concatenate %{{[0-9]+}}, %0, %{{[0-9]+}} dimension=0 : f32[1030,1024]
// CHECK: program @border
module @border {
  func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1030x1024xf32> {
    %0 = stablehlo.slice %x [1:4, 0:1024] : (tensor<1024x1024xf32>) -> tensor<3x1024xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<3x1024xf32>
    %2 = stablehlo.concatenate %1, %x, dim = 0 : (tensor<3x1024xf32>, tensor<1024x1024xf32>) -> tensor<1027x1024xf32>
    %3 = stablehlo.slice %2 [1023:1026, 0:1024] : (tensor<1027x1024xf32>) -> tensor<3x1024xf32>
    %4 = stablehlo.reverse %3, dims = [0] : tensor<3x1024xf32>
    %5 = stablehlo.concatenate %2, %4, dim = 0 : (tensor<1027x1024xf32>, tensor<3x1024xf32>) -> tensor<1030x1024xf32>
    return %5 : tensor<1030x1024xf32>
  }
}

// -----

// What happens or not for each of many: places outside of the array for those that it does not happen to. Of one update
// the old elements are chosen in its place.
// CHECK-DAG: masked_update: select %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} : f32[5,9] -> %{{[0-9]+}} = scatter
// CHECK-DAG: masked_update: select %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}} : f32[9] -> %{{[0-9]+}} = dynamic_update_slice
// CHECK: program @masked
// CHECK-DAG: %[[OUT:[0-9]+]] = constant splat 0x00000080 : s32[5,1]
// CHECK-DAG: %[[AT:[0-9]+]] = select %{{[0-9]+}}, %{{[0-9]+}}, %[[OUT]] : s32[5,1]
// CHECK-DAG: scatter %0, %[[AT]]
// CHECK-DAG: %[[OLD:[0-9]+]] = dynamic_slice %[[Y:[0-9]+]], %[[J:[0-9]+]] : f32[2]
// CHECK-DAG: %[[NEW:[0-9]+]] = select %{{[0-9]+}}, %[[OLD]], %{{[0-9]+}} : f32[2]
// CHECK-DAG: dynamic_update_slice %[[Y]], %[[NEW]], %[[J]]
module @masked {
  func.func @main(%x: tensor<5x9xf32>, %m: tensor<5xi1>, %i: tensor<5x1xi32>, %u: tensor<5x2xf32>, %y: tensor<9xf32>, %k: tensor<i1>,
                  %j: tensor<i32>, %v: tensor<2xf32>) -> (tensor<5x9xf32>, tensor<9xf32>) {
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0],
         scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<5x9xf32>, tensor<5x1xi32>, tensor<5x2xf32>) -> tensor<5x9xf32>
    %1 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<5xi1>) -> tensor<5x9xi1>
    %2 = stablehlo.select %1, %0, %x : tensor<5x9xi1>, tensor<5x9xf32>
    %3 = stablehlo.dynamic_update_slice %y, %v, %j : (tensor<9xf32>, tensor<2xf32>, tensor<i32>) -> tensor<9xf32>
    %4 = stablehlo.select %k, %y, %3 : tensor<i1>, tensor<9xf32>
    return %2, %4 : tensor<5x9xf32>, tensor<9xf32>
  }
}

// -----

// Loops that do the same with the same are one; one that does something else is another.
// CHECK-DAG: share: while
// CHECK: program @equal_loops
// CHECK: %[[A:[0-9]+]] = while
// CHECK: tanh
// CHECK: %[[B:[0-9]+]] = while
// CHECK: sine
// CHECK-NOT: while
// CHECK: return %[[A]]#1, %[[A]]#1, %[[B]]#1
module @equal_loops {
  func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %a:2 = stablehlo.while(%a_i = %zero, %a_x = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %go = stablehlo.compare LT, %a_i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %a_i, %one : tensor<i32>
      %h = stablehlo.tanh %a_x : tensor<4xf32>
      stablehlo.return %next, %h : tensor<i32>, tensor<4xf32>
    }
    %b:2 = stablehlo.while(%b_i = %zero, %b_x = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %go = stablehlo.compare LT, %b_i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %b_i, %one : tensor<i32>
      %h = stablehlo.tanh %b_x : tensor<4xf32>
      stablehlo.return %next, %h : tensor<i32>, tensor<4xf32>
    }
    %c:2 = stablehlo.while(%c_i = %zero, %c_x = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %go = stablehlo.compare LT, %c_i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %c_i, %one : tensor<i32>
      %h = stablehlo.sine %c_x : tensor<4xf32>
      stablehlo.return %next, %h : tensor<i32>, tensor<4xf32>
    }
    return %a#1, %b#1, %c#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Short rows are summed in strips, and equal parts of long sums once.
// CHECK-DAG: long_reduce: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[3] -> %{{[0-9]+}} = reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[3]
// CHECK-DAG: share: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1] : f32[125] -> %{{[0-9]+}} = reduce
// CHECK: program @sums
// CHECK: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[25,3]
module @sums {
  func.func @main(%x: tensor<1000x3xf32>, %y: tensor<1000000xf32>) -> (tensor<3xf32>, tensor<f32>, tensor<f32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000x3xf32>, tensor<f32>) -> tensor<3xf32>
    %1 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000000xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.sine %1 : tensor<f32>
    %3 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000000xf32>, tensor<f32>) -> tensor<f32>
    return %0, %2, %3 : tensor<3xf32>, tensor<f32>, tensor<f32>
  }
}

// -----

// Blocks of long sums do not run across the border of a dim; what nothing divides has a shorter block at its end.
// CHECK: program @blocks
// CHECK: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[2,3,4] : f32[50,8]
// CHECK: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[2] : f32[4096,4]
// CHECK: concatenate %{{[0-9]+}}, %{{[0-9]+}} dimension=0 : f32[123]
module @blocks {
  func.func @main(%x: tensor<50x224x224x3xf32>, %a: tensor<4096xf32>, %b: tensor<70000xf32>, %p: tensor<1000003xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<50x224x224x3xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<4096xf32>) -> tensor<4096x70000xf32>
    %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<70000xf32>) -> tensor<4096x70000xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<4096x70000xf32>
    %4 = stablehlo.reduce(%3 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4096x70000xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1000003xf32>, tensor<f32>) -> tensor<f32>
    return %0, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>
  }
}

// -----

// The norm of a matrix sums rows of it: no kernel could compute elements in blocks across their borders.
// CHECK-DAG: unmerged_reduce: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[0] : f32[] -> %{{[0-9]+}} = reduce
// CHECK: program @norm
// CHECK: reduce %{{[0-9]+}}, %{{[0-9]+}} dimensions=[1,2] : f32[50]
module @norm {
  func.func @main(%a: tensor<1000x1001xf32>) -> tensor<f32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.exponential %a : tensor<1000x1001xf32>
    %1 = stablehlo.reshape %0 : (tensor<1000x1001xf32>) -> tensor<1001000xf32>
    %2 = stablehlo.multiply %1, %1 : tensor<1001000xf32>
    %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<1001000xf32>, tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}

// -----

// Pictures are flipped as bytes, before they are floats of any colour's mean; what is wider before it is computed, or
// wanted as it is too, stays.
// CHECK-DAG: choose_mirrored: select %[[P:[0-9]+]], %{{[0-9]+}}, %{{[0-9]+}} : f32[5,7,3] -> subtract
// CHECK-DAG: choose_mirrored: select %[[P]], %{{[0-9]+}}, %{{[0-9]+}} : f32[5,7,3] -> convert
// CHECK: program @flipped
// CHECK-DAG: reverse %0 dimensions=[1] : u8[5,7,3]
// CHECK-DAG: reverse %{{[0-9]+}} dimensions=[1] : s8[5,7,3]
// CHECK-DAG: reverse %{{[0-9]+}} dimensions=[0] : f32[5,7,3]
// CHECK-DAG: reverse %{{[0-9]+}} dimensions=[1] : f32[5,7,3]
// CHECK-NOT: reverse
module @flipped {
  func.func @main(%x: tensor<5x7x3xui8>, %p: tensor<5xi1>, %m: tensor<3xf32>, %w: tensor<7xf32>, %y: tensor<5x7x3xf32>) -> (tensor<5x7x3xf32>, tensor<5x7x3xi8>, tensor<5x7x3xf32>, tensor<5x7x3xf32>, tensor<5x7x3xf32>) {
    %q = stablehlo.broadcast_in_dim %p, dims = [0] : (tensor<5xi1>) -> tensor<5x7x3xi1>
    %0 = stablehlo.convert %x : (tensor<5x7x3xui8>) -> tensor<5x7x3xf32>
    %1 = stablehlo.broadcast_in_dim %m, dims = [2] : (tensor<3xf32>) -> tensor<5x7x3xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<5x7x3xf32>
    %3 = stablehlo.reverse %2, dims = [1] : tensor<5x7x3xf32>
    %4 = stablehlo.select %q, %3, %2 : tensor<5x7x3xi1>, tensor<5x7x3xf32>
    %5 = stablehlo.convert %y : (tensor<5x7x3xf32>) -> tensor<5x7x3xi8>
    %6 = stablehlo.reverse %5, dims = [1] : tensor<5x7x3xi8>
    %7 = stablehlo.select %q, %5, %6 : tensor<5x7x3xi1>, tensor<5x7x3xi8>
    %8 = stablehlo.cosine %y : tensor<5x7x3xf32>
    %9 = stablehlo.reverse %8, dims = [0] : tensor<5x7x3xf32>
    %10 = stablehlo.select %q, %9, %8 : tensor<5x7x3xi1>, tensor<5x7x3xf32>
    %11 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<7xf32>) -> tensor<5x7x3xf32>
    %12 = stablehlo.multiply %y, %11 : tensor<5x7x3xf32>
    %13 = stablehlo.reverse %12, dims = [1] : tensor<5x7x3xf32>
    %14 = stablehlo.select %q, %13, %12 : tensor<5x7x3xi1>, tensor<5x7x3xf32>
    return %4, %7, %10, %14, %8 : tensor<5x7x3xf32>, tensor<5x7x3xi8>, tensor<5x7x3xf32>, tensor<5x7x3xf32>, tensor<5x7x3xf32>
  }
}

// -----

// Four dims of space: the first one's places become images, its windows channels.
// CHECK-DAG: fewer_convolution_dims: convolution %{{[0-9]+}}, %{{[0-9]+}} {{.*}} : f32[1,3,2,6,7,8] -> %{{[0-9]+}} = transpose
// CHECK: program @four_dims_of_space
// CHECK: %[[C:[0-9]+]] = convolution {{.*}} : f32[2,3,6,7,8]
module @four_dims_of_space {
  func.func @main(%x: tensor<1x2x3x8x9x10xf32>, %w: tensor<3x2x2x3x3x3xf32>) -> tensor<1x3x2x6x7x8xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1, 2, 3]x[o, i, 0, 1, 2, 3]->[b, f, 0, 1, 2, 3], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
       : (tensor<1x2x3x8x9x10xf32>, tensor<3x2x2x3x3x3xf32>) -> tensor<1x3x2x6x7x8xf32>
    return %0 : tensor<1x3x2x6x7x8xf32>
  }
}
