// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

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
