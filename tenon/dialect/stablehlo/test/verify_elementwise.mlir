// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// cbrt_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.cbrt"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// ceil_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.ceil"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// cosine_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.cosine"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// exponential_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.exponential"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// exponential_minus_one_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.exponential_minus_one"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// floor_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.floor"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// log_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.log"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// log_plus_one_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.log_plus_one"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// logistic_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.logistic"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// negate_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.negate"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// round_nearest_afz_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.round_nearest_afz"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// round_nearest_even_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.round_nearest_even"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// rsqrt_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.rsqrt"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// sign_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.sign"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// sine_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.sine"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// sqrt_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.sqrt"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// tan_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.tan"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// tanh_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.tanh"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// imag_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.imag"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// real_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.real"(%a) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// count_leading_zeros_c1
func.func @f(%a: tensor<2x3xi32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.count_leading_zeros"(%a) : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return
}

// -----

// not_c1
func.func @f(%a: tensor<2x3xi32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.not"(%a) : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return
}

// -----

// popcnt_c1
func.func @f(%a: tensor<2x3xi32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.popcnt"(%a) : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return
}

// -----

// atan2_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.atan2"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// divide_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.divide"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// maximum_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.maximum"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// minimum_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.minimum"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// multiply_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// power_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.power"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// remainder_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.remainder"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// subtract_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.subtract"(%a, %b) : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// and_c1
func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.and"(%a, %b) : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x3xi32>
  return
}

// -----

// or_c1
func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.or"(%a, %b) : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x3xi32>
  return
}

// -----

// xor_c1
func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.xor"(%a, %b) : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x3xi32>
  return
}

// -----

// shift_left_c1
func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.shift_left"(%a, %b) : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x3xi32>
  return
}

// -----

// shift_right_arithmetic_c1
func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.shift_right_arithmetic"(%a, %b) : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x3xi32>
  return
}

// -----

// shift_right_logical_c1
func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x2xi32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.shift_right_logical"(%a, %b) : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x3xi32>
  return
}

// -----

// abs_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.abs"(%a) : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// imag_c2
func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.imag"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

// real_c2
func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.real"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

// is_finite_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.is_finite"(%a) : (tensor<2x3xf32>) -> tensor<2xi1>
  return
}

// -----

// complex_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.complex"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xcomplex<f32>>
  return
}

// -----

// complex_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.complex"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f64>>
  return
}

// -----

// clamp_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.clamp"(%a, %a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

// reduce_precision_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 5 : i32, mantissa_bits = 3 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf64>
  return
}

// -----

// uniform_dequantize_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.uniform_dequantize"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xf32>
  return
}

// -----

// add_c1
func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{operands must have one type, got}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// add_c1
func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{operands must have one type, got}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

// add_c1: result
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<3x2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// add_c5
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+1 {{result must be quantized along the operands' axes}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

// add_c6
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+1 {{result must be quantized along the operands' axes}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

// element types
func.func @f(%a: tensor<2xsi32>) {
  // expected-error@+1 {{operand #0 must be a ranked tensor of floating-point}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<2xsi32>, tensor<2xsi32>) -> tensor<2xsi32>
  return
}

// -----

// element types
func.func @f(%a: tensor<2xi1>) {
  // expected-error@+1 {{operand #0 must be a ranked tensor of integer, floating-point, complex, per-tensor quantized}}
  %0 = "stablehlo.subtract"(%a, %a) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

// element types
func.func @f(%a: tensor<*xf32>) {
  // expected-error@+1 {{operand #0 must be a ranked tensor}}
  %0 = "stablehlo.negate"(%a) : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

// abs_c2
func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.abs"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

// result_accuracy
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result_accuracy must have no tolerances unless its mode is TOLERANCE}}
  %0 = "stablehlo.tanh"(%a) {result_accuracy = #stablehlo.result_accuracy<atol = 1.0, mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// result_accuracy
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result_accuracy must not have negative tolerances}}
  %0 = "stablehlo.tanh"(%a) {result_accuracy = #stablehlo.result_accuracy<ulps = -1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// complex_c1
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xcomplex<f32>>
  return
}

// -----

// compare_c1
func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{operands must have one type}}
  %0 = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

// compare_c2
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2xi1>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.compare"(%a, %a) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xi1>
  return
}

// -----

// attributes
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{requires attribute 'comparison_direction'}}
  %0 = "stablehlo.compare"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  return
}

// -----

// select_c1
func.func @f(%a: tensor<2x3xf32>, %p: tensor<3xi1>) {
  // expected-error@+1 {{pred must be a scalar or have the shape of}}
  %0 = "stablehlo.select"(%p, %a, %a) : (tensor<3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// select_c2
func.func @f(%a: tensor<2x3xf32>, %p: tensor<i1>, %b: tensor<2xf32>) {
  // expected-error@+1 {{branches must have one type}}
  %0 = "stablehlo.select"(%p, %a, %b) : (tensor<i1>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// clamp_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{min must be a scalar or have the shape of}}
  %0 = "stablehlo.clamp"(%b, %a, %a) : (tensor<2xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// clamp_c2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{max must be a scalar or have the shape of}}
  %0 = "stablehlo.clamp"(%a, %a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// clamp_c3
func.func @f(%a: tensor<2x3xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{min must have the element type of}}
  %0 = "stablehlo.clamp"(%b, %a, %a) : (tensor<i32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// convert_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.convert"(%a) : (tensor<2x3xf32>) -> tensor<2xi32>
  return
}

// -----

// reduce_precision_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{exponent_bits must be at least 1, got 0}}
  %0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 0 : i32, mantissa_bits = 3 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_precision_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{mantissa_bits must be at least 0, got -1}}
  %0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 1 : i32, mantissa_bits = -1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// uniform_quantize_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.uniform_quantize"(%a) : (tensor<2x3xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

// uniform_quantize_c2
func.func @f(%a: tensor<2xf64>) {
  // expected-error@+1 {{result must express elements of}}
  %0 = "stablehlo.uniform_quantize"(%a) : (tensor<2xf64>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

// uniform_dequantize_c2
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.uniform_dequantize"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf64>
  return
}

// -----

// select_c2, negate_c1: what computes with the numbers may change how they are stored.
func.func @f(%p: tensor<2xi1>, %a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.25:3>>) {
  %0 = "stablehlo.select"(%p, %a, %b) : (tensor<2xi1>, tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.25:3>>) -> tensor<2x!quant.uniform<i8:f32, 1.0>>
  %1 = "stablehlo.negate"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25:3>>
  return
}

// -----

// select_c2: numbers of another storage are another type.
func.func @f(%p: tensor<2xi1>, %a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<u8:f32, 0.5>>) {
  // expected-error@+1 {{branches must have one type}}
  %0 = "stablehlo.select"(%p, %a, %b) : (tensor<2xi1>, tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
