// Pretty forms of CHLO: printed as they stand here, and alike in generic form.
// RUN: tenon-opt %s | FileCheck %s
// RUN: tenon-opt --round-trip %s
// RUN: tenon-opt --generic %s | tenon-opt - | FileCheck %s

// CHECK-LABEL: func.func @functions
func.func @functions(%a: tensor<2xf32>, %u: tensor<*xf32>, %n: tensor<4xi32>, %c: tensor<2xcomplex<f32>>) {
  // CHECK: chlo.erf %arg0 : tensor<2xf32> -> tensor<2xf32>
  %0 = chlo.erf %a : tensor<2xf32> -> tensor<2xf32>
  // CHECK: chlo.acosh %arg1 : tensor<*xf32> -> tensor<*xf32>
  %1 = chlo.acosh %u : tensor<*xf32> -> tensor<*xf32>
  // CHECK: chlo.is_inf %arg0 : tensor<2xf32> -> tensor<2xi1>
  %2 = chlo.is_inf %a : tensor<2xf32> -> tensor<2xi1>
  // CHECK: chlo.conj %arg3 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %3 = chlo.conj %c : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  // CHECK: chlo.mulhi %arg2, %arg2 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %4 = chlo.mulhi %n, %n : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  // CHECK: chlo.next_after %arg0, %arg0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %5 = chlo.next_after %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  // CHECK: chlo.polygamma %arg0, %arg0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %6 = chlo.polygamma %a, %a : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @broadcasting
func.func @broadcasting(%a: tensor<1x4xf32>, %b: tensor<4xf32>, %p: tensor<i1>) {
  // CHECK: chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  %0 = chlo.broadcast_add %a, %b {broadcast_dimensions = array<i64: 1>} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  // CHECK: chlo.broadcast_compare %arg0, %arg1 {comparison_direction = #chlo<comparison_direction LT>} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xi1>
  %1 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xi1>
  // CHECK: chlo.broadcast_select %arg2, %arg0, %arg0 : (tensor<i1>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = chlo.broadcast_select %p, %a, %a : (tensor<i1>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  // CHECK: "chlo.constant_like"(%arg1) <{value = 3.200000e+00 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "chlo.constant_like"(%b) {value = 3.2 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: chlo.constant dense<1> : tensor<i32>
  %4 = chlo.constant dense<1> : tensor<i32>
  return
}

// CHECK-LABEL: func.func @structured
func.func @structured(%a: tensor<5x3xf32>, %l: tensor<2x3x5xf32>, %r: tensor<2x5x7xf32>, %g: tensor<2xi64>, %z: tensor<3xf32>) {
  // CHECK: %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<5x3xf32> -> (tensor<5x2xf32>, tensor<5x2xi32>)
  %0:2 = chlo.top_k(%a, k = 2) : tensor<5x3xf32> -> (tensor<5x2xf32>, tensor<5x2xi32>)
  // CHECK: chlo.top_k(%arg0, k = 2, is_stable = false) : tensor<5x3xf32> -> (tensor<5x2xf32>, tensor<5x2xi32>)
  %1:2 = chlo.top_k(%a, k = 2, is_stable = false) : tensor<5x3xf32> -> (tensor<5x2xf32>, tensor<5x2xi32>)
  // CHECK: #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>
  %2 = "chlo.ragged_dot"(%l, %r, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>}> : (tensor<2x3x5xf32>, tensor<2x5x7xf32>, tensor<2xi64>) -> tensor<2x3x7xf32>
  // CHECK: %outputs, %carries = chlo.scan(%arg0) inits (%arg4) dimension=0 attributes {is_reverse = true} {
  // CHECK-NEXT: ^bb0(%arg5: tensor<3xf32>, %arg6: tensor<3xf32>):
  %3:2 = chlo.scan(%a) inits (%z) dimension=0 attributes {is_reverse = true} {
  ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
    %s = stablehlo.add %input, %carry : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  // CHECK: } : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  } : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}
