// What a gather takes of a padded array is read where it is or is padding: no padded array is made. Few channels behind
// a padded dim are gone through with it as one row.
// RUN: tenon-opt --plan --split-input-file %s | FileCheck %s

// CHECK: plan "windows"
// CHECK: read [[R:r[0-9]+]] = b2[d0, d1 - 7 + %{{[0-9]+}}, d2 - 14 + %{{[0-9]+}}] if 0 <= d1 - 7 + %{{[0-9]+}} < {{.*}} && 0 <= d2 - 14 + %{{[0-9]+}} <
// CHECK: arena 0
// CHECK: steps {
// CHECK-NEXT: kernel 0
module @windows {
  func.func @main(%x: tensor<64x32x32x2xui8>, %at: tensor<64x2xi32>) -> tensor<64x7x7x2xui8> {
    %one = stablehlo.constant dense<1> : tensor<ui8>
    %padded = stablehlo.pad %x, %one, low = [0, 7, 7, 0], high = [0, 7, 7, 0], interior = [0, 0, 0, 0] : (tensor<64x32x32x2xui8>, tensor<ui8>) -> tensor<64x46x46x2xui8>
    %window = "stablehlo.gather"(%padded, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 7, 7, 2>}> : (tensor<64x46x46x2xui8>, tensor<64x2xi32>) -> tensor<64x7x7x2xui8>
    return %window : tensor<64x7x7x2xui8>
  }
}

// -----
// CHECK: plan "pad"
// CHECK: dim d2 parallel
// CHECK-NOT: dim d3
// CHECK: read r0 = b1{{.*}} if 0 <= d1 - 4 < {{p?[0-9]+}} && 0 <= d2 {{[+-]}}
// CHECK: stage (d0, d1, d2)
module @pad {
  func.func @main(%x: tensor<32x32x32x3xf32>) -> tensor<32x40x40x3xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %padded = stablehlo.pad %x, %zero, low = [0, 4, 4, 0], high = [0, 4, 4, 0], interior = [0, 0, 0, 0] : (tensor<32x32x32x3xf32>, tensor<f32>) -> tensor<32x40x40x3xf32>
    return %padded : tensor<32x40x40x3xf32>
  }
}

// -----
// Places that nothing bounds are not multiplied for it: the multiple of one far outside could lie inside.
// CHECK: plan "far"
// CHECK: [[AT:%[0-9]+]] = s64 read
// CHECK: combine g0 if 0 <= [[AT]] < 1
module @far {
  func.func @main(%x: tensor<4x3xf32>, %at: tensor<1xi64>, %u: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %r = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}> ({
     ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<1xi64>, tensor<4x3xf32>) -> tensor<4x3xf32>
    return %r : tensor<4x3xf32>
  }
}

// -----
// Where a roll of a roll begins is the same for all of its elements, inside and outside: nothing is asked of its read.
// CHECK: plan "rolled_twice"
// CHECK-COUNT-2: read r{{[0-9]+}} = b{{[0-9]+}}[0]{{$}}
// CHECK: read r{{[0-9]+}} = b{{[0-9]+}}[d0 + %{{[0-9]+}}, d1 + %{{[0-9]+}}] if
// CHECK-NOT: read r{{[0-9]+}} = b{{[0-9]+}}[0] if
module @rolled_twice {
  func.func @main(%x: tensor<120x133xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<120x133xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %rows = stablehlo.concatenate %x, %x, dim = 0 : (tensor<120x133xf32>, tensor<120x133xf32>) -> tensor<240x133xf32>
    %turned = stablehlo.dynamic_slice %rows, %i, %zero, sizes = [120, 133] : (tensor<240x133xf32>, tensor<i32>, tensor<i32>) -> tensor<120x133xf32>
    %columns = stablehlo.concatenate %turned, %turned, dim = 1 : (tensor<120x133xf32>, tensor<120x133xf32>) -> tensor<120x266xf32>
    %result = stablehlo.dynamic_slice %columns, %zero, %j, sizes = [120, 133] : (tensor<120x266xf32>, tensor<i32>, tensor<i32>) -> tensor<120x133xf32>
    return %result : tensor<120x133xf32>
  }
}
