// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// convolution_c1
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{operands must have one rank of at least 2}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c2
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{window_strides must have 2 entries, got 1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c3
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{window_strides must be at least 1, got 0}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1, 0>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c4
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{padding must have shape [2, 2]}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, padding = dense<0> : tensor<4xi64>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c5
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{lhs_dilation must have 2 entries, got 3}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1, 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c6
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{lhs_dilation must be at least 1, got -1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 1, -1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c7
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{rhs_dilation must have 2 entries, got 0}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c8
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{rhs_dilation must be at least 1, got 0}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64: 0, 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c9
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{window_reversal must have 2 entries, got 1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_reversal = array<i1: true>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c10
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{input batch size must be a multiple of 2, got 1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c11
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{input feature size must be a multiple of 3, got 4}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c12
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{input_spatial_dimensions must have 2 entries, got 1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c13
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{input dimensions must be in [0, 4), got 9}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 9, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c14
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x5x6xf32>) {
  // expected-error@+1 {{kernel input feature size must be 4, got 5}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x5x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c15
func.func @f(%a: tensor<4x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{kernel output feature size must be a multiple of 4, got 6}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 4 : i64} : (tensor<4x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c16
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x1x6xf32>) {
  // expected-error@+1 {{kernel output feature size must be a multiple of 4, got 6}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 4 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x1x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c17
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{kernel_spatial_dimensions must have 2 entries, got 1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c19
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{output_spatial_dimensions must have 2 entries, got 3}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, 2, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c20
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{output dimensions must not repeat a value}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 0, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c21
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{feature_group_count must be at least 1, got 0}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c22
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{batch_group_count must be at least 1, got -1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = -1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c23
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{only one of feature_group_count and batch_group_count may exceed 1}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c25
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x5x6x6xf32>
  return
}

// -----

// convolution_c25: negative size
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{padding must leave spatial dimension 0 a size of at least 0}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, padding = dense<[[-9, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

// convolution_c26
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{result must have rank 4}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6xf32>
  return
}

// -----

// convolution_c29
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x3x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) {
  // expected-error@+1 {{rhs must be quantized along its output features}}
  %0 = "stablehlo.convolution"(%a, %k) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x3x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) -> tensor<1x6x6x3xf32>
  return
}

// -----

// dynamic_conv_c4
func.func @f(%a: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>, %p: tensor<3x2xi64>) {
  // expected-error@+1 {{padding must have shape [2, 2]}}
  %0 = "stablehlo.dynamic_conv"(%a, %k, %p) {dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<3x2xi64>) -> tensor<1x?x?x6xf32>
  return
}
