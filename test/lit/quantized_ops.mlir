// Ops that have no form on storage are refused; none of them computes with it as if it were the numbers.
// RUN: not tenon-opt --import --split-input-file %s 2>&1 | FileCheck %s

// CHECK: chlo.broadcast_multiply {{.*}}'stablehlo.multiply' op operand #0 must be
func.func @main(%x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> {
  %0 = chlo.broadcast_multiply %x, %x : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return %0 : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}

// -----

// CHECK: chlo.ragged_dot on quantized types: it has no form
func.func @main(%x: tensor<2x2x!quant.uniform<i8:f32, 0.5>>, %n: tensor<3xi32>) -> tensor<3x2x2x!quant.uniform<i8:f32, 0.5>> {
  %0 = "chlo.ragged_dot"(%x, %x, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>} : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<3xi32>) -> tensor<3x2x2x!quant.uniform<i8:f32, 0.5>>
  return %0 : tensor<3x2x2x!quant.uniform<i8:f32, 0.5>>
}
