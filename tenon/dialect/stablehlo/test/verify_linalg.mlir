// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// dot_general_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{rhs_batching_dimensions must have 1 entries, got 0}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{rhs_contracting_dimensions must have 1 entries, got 0}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c3
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{lhs batching and contracting dimensions must not repeat a value}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c4
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{rhs batching and contracting dimensions must not repeat a value}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c6
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{lhs batching and contracting dimensions must be in [0, 2), got 2}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c8
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{rhs batching and contracting dimensions must be in [0, 2), got -1}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [-1]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c9
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{batching dimensions 0 of lhs and 1 of rhs must have one size, got 2 and 3}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c10
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{contracting dimensions 0 of lhs and 1 of rhs must have one size, got 2 and 3}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c11
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{precision_config must have at most 2 entries, got 3}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c12
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// dot_general_c14
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2xf32>) {
  // expected-error@+1 {{lhs and result must both be quantized or both not}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2xf32>) -> tensor<f32>
  return
}

// -----

// dot_general_c15
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.5:3>>) {
  // expected-error@+1 {{rhs must have zero points of 0}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

// dot_general_c17
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i4:f32, 0.5>>) {
  // expected-error@+1 {{lhs and rhs must have one storage type}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i4:f32, 0.5>>) -> tensor<!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

// dot_general_c20
func.func @f(%a: tensor<2xf16>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{lhs and result must have the type that rhs expresses}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2xf16>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<f16>
  return
}

// -----

// dot_general_c16
func.func @f(%a: tensor<2xf32>, %b: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+1 {{quantized dimension of rhs must not be contracted}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2xf32>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<f32>
  return
}

// -----

// dot_general_c18
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{operands and result must express one type}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<!quant.uniform<i8:f64, 0.5>>
  return
}

// -----

// dot_general_c19
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{result must be quantized per tensor as rhs is}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}

// -----

// dot_general_c21
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{precision_config must be DEFAULT beside an algorithm, got HIGH}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c22
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{lhs_component_count must be at least 1, got 0}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c23
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{rhs_component_count must be at least 1, got 0}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 0, num_primitive_operations = 1, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general_c24
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{num_primitive_operations must be at least 1, got 0}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot_general: algorithm
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{algorithm must have component counts of 1}}
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 3, num_primitive_operations = 3, allow_imprecise_accumulation = false>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// dot
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{expected vectors or matrices whose last and first dimensions agree}}
  %0 = "stablehlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// cholesky_c2
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{expected square matrices}}
  %0 = "stablehlo.cholesky"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// cholesky_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected square matrices}}
  %0 = "stablehlo.cholesky"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// triangular_solve_c1
func.func @f(%a: tensor<2x2xf32>, %b: tensor<2x2xf64>) {
  // expected-error@+1 {{operands must have one element type}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf32>, tensor<2x2xf64>) -> tensor<2x2xf64>
  return
}

// -----

// triangular_solve_c2
func.func @f(%a: tensor<2x2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{operands must have one rank of at least 2}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// triangular_solve_c3
func.func @f(%a: tensor<2x2xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{expected square matrices a that fit b}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

// triangular_solve_c3: batch
func.func @f(%a: tensor<5x2x2xf32>, %b: tensor<4x2x2xf32>) {
  // expected-error@+1 {{operands must have one batch shape}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<5x2x2xf32>, tensor<4x2x2xf32>) -> tensor<4x2x2xf32>
  return
}

// -----

// triangular_solve: transpose
func.func @f(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) {
  // expected-error@+1 {{transpose_a must not be TRANSPOSE_INVALID}}
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

// fft_c1
func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{fft_length must have 1 to 3 entries}}
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 2, 2>} : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}

// -----

// fft_c2
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{FFT must have complex elements}}
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 2>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

// fft_c2
func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{RFFT must have f32 or f64 elements}}
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 2>} : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}

// -----

// fft_c3
func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{fft_length must have 1 to 3 entries}}
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64>} : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}

// -----

// fft_c4
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+1 {{dimension 0 of the operand must be 7 for fft_length[0] = 7}}
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 7>} : (tensor<8xf32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

// fft_c5
func.func @f(%a: tensor<8xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<5xcomplex<f32>>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.fft"(%a) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>} : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

// batch_norm_inference_c1
func.func @f(%a: tensor<2x3xf32>, %v: tensor<3xf32>) {
  // expected-error@+1 {{feature_index must be in [0, 2), got 2}}
  %0 = "stablehlo.batch_norm_inference"(%a, %v, %v, %v, %v) {epsilon = 1.0 : f32, feature_index = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// batch_norm_inference_c3
func.func @f(%a: tensor<2x3xf32>, %v: tensor<2xf32>) {
  // expected-error@+1 {{vectors must have the size of dimension 1}}
  %0 = "stablehlo.batch_norm_inference"(%a, %v, %v, %v, %v) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// batch_norm_grad_c3
func.func @f(%a: tensor<2x3xf32>, %v: tensor<3xf32>, %g: tensor<3x2xf32>) {
  // expected-error@+1 {{grad_output must have type}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %v, %v, %v, %g) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// batch_norm_grad_c1
func.func @f(%a: tensor<2x3xf32>, %v: tensor<3xf32>) {
  // expected-error@+1 {{feature_index must be in [0, 2), got -1}}
  %0:3 = "stablehlo.batch_norm_grad"(%a, %v, %v, %v, %a) {epsilon = 1.0 : f32, feature_index = -1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// batch_norm_training_c1
func.func @f(%a: tensor<2x3xf32>, %v: tensor<3xf32>) {
  // expected-error@+1 {{feature_index must be in [0, 2), got 2}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %v, %v) {epsilon = 1.0 : f32, feature_index = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// batch_norm_training_c2
func.func @f(%a: tensor<2x3xf32>, %v: tensor<3xf64>) {
  // expected-error@+1 {{operands must have the element type of}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %v, %v) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// batch_norm_training_c3
func.func @f(%a: tensor<2x3xf32>, %v: tensor<2xf32>) {
  // expected-error@+1 {{vectors must have the size of dimension 1}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %v, %v) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// batch_norm_training_c5
func.func @f(%a: tensor<2x3xf32>, %v: tensor<3xf32>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0:3 = "stablehlo.batch_norm_training"(%a, %v, %v) {epsilon = 1.0 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

// rng_c1
func.func @f(%a: tensor<f32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{a, b and result must have one element type}}
  %0 = "stablehlo.rng"(%a, %a, %s) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<7xf64>
  return
}

// -----

// rng_c2
func.func @f(%a: tensor<i32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{NORMAL must have floating-point elements}}
  %0 = "stablehlo.rng"(%a, %a, %s) {rng_distribution = #stablehlo<rng_distribution NORMAL>} : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<7xi32>
  return
}

// -----

// rng_c3
func.func @f(%a: tensor<f32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{shape must have 1 entries, got 2}}
  %0 = "stablehlo.rng"(%a, %a, %s) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<7xf32>
  return
}

// -----

// rng_bit_generator_c1
func.func @f(%s: tensor<2xui64>) {
  // expected-error@+1 {{output_state must have type}}
  %0:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>) -> (tensor<3xui64>, tensor<2xui32>)
  return
}

// -----

// rng_bit_generator_c2
func.func @f(%s: tensor<3xui64>) {
  // expected-error@+1 {{THREE_FRY must have a state of 2 elements}}
  %0:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2xui32>)
  return
}
