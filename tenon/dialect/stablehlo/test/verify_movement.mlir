// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// constant_c1
func.func @f() {
  // expected-error@+1 {{value must have type}}
  %0 = "stablehlo.constant"() {value = dense<1> : tensor<2xi32>} : () -> tensor<3xi32>
  return
}

// -----

// constant_c1
func.func @f() {
  // expected-error@+1 {{value must have type}}
  %0 = "stablehlo.constant"() {value = dense<1> : tensor<2xi32>} : () -> tensor<2xf32>
  return
}

// -----

// iota_c1
func.func @f() {
  // expected-error@+1 {{iota_dimension must be in [0, 1), got 1}}
  %0 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2xi32>
  return
}

// -----

// iota_c1
func.func @f() {
  // expected-error@+1 {{iota_dimension must be in [0, 1), got -1}}
  %0 = "stablehlo.iota"() {iota_dimension = -1 : i64} : () -> tensor<2xi32>
  return
}

// -----

// bitcast_convert_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.bitcast_convert"(%a) : (tensor<2x3xf32>) -> tensor<2x2xi32>
  return
}

// -----

// bitcast_convert_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must hold the bits of}}
  %0 = "stablehlo.bitcast_convert"(%a) : (tensor<2x3xf32>) -> tensor<2x3x3xi8>
  return
}

// -----

// bitcast_convert_c1
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{result must hold the bits of}}
  %0 = "stablehlo.bitcast_convert"(%a) : (tensor<f32>) -> tensor<f64>
  return
}

// -----

// bitcast_convert_c2
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{operand and result must both be complex or both not}}
  %0 = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<complex<f32>>
  return
}

// -----

// broadcast_in_dim_c1
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2xi32>
  return
}

// -----

// broadcast_in_dim_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{broadcast_dimensions must have 2 entries, got 1}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// broadcast_in_dim_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{broadcast_dimensions must be in [0, 2), got 2}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 0, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// broadcast_in_dim_c4
func.func @f(%a: tensor<1x1xf32>) {
  // expected-error@+1 {{broadcast_dimensions must not repeat a value, got [0, 0]}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 0, 0>} : (tensor<1x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

// broadcast_in_dim_c5
func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{operand dimension 0 must be 1 or the size of result dimension 1 (3), got 2}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 1>} : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// broadcast_in_dim_c6
func.func @f(%a: tensor<2x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+1 {{is not where the operand's goes}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<2x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

// broadcast_in_dim: dynamic result
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{result #0 must be a tensor of static shape, or with one bounded dimension}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<?xf32>
  return
}

// -----

// broadcast: sizes
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{broadcast_sizes must be at least 0, got -1}}
  %0 = "stablehlo.broadcast"(%a) {broadcast_sizes = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
  return
}

// -----

// reshape_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x3xf32>) -> tensor<6xi32>
  return
}

// -----

// reshape_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have 6 elements}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

// reshape_c3
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+1 {{quantized axis of the result must split its elements}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

// transpose_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation must hold each of 0 .. 1 once, got [0, 0]}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// transpose_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation must hold each of 0 .. 1 once}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// transpose_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<3x2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reverse_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimensions must not repeat a value}}
  %0 = "stablehlo.reverse"(%a) {dimensions = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// reverse_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimensions must be in [0, 2), got 2}}
  %0 = "stablehlo.reverse"(%a) {dimensions = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// concatenate_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xi32>) {
  // expected-error@+1 {{inputs must have one element type}}
  %0 = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<4x3xf32>
  return
}

// -----

// concatenate_c2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{inputs must have one shape but for dimension 0}}
  %0 = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

// concatenate_c3
func.func @f() {
  // expected-error@+1 {{expected at least one input}}
  %0 = "stablehlo.concatenate"() {dimension = 0 : i64} : () -> tensor<4x3xf32>
  return
}

// -----

// concatenate_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension must be in [0, 2), got 2}}
  %0 = "stablehlo.concatenate"(%a) {dimension = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// concatenate_c6
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<4x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.concatenate"(%a, %a) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

// slice_c2
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{strides must have 2 entries, got 1}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

// slice_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{range of dimension 1 must lie in [0, 3], got [0, 4]}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 4>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<1x4xf32>
  return
}

// -----

// slice_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{range of dimension 0 must lie in [0, 2], got [-1, 1]}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: -1, 0>, limit_indices = array<i64: 1, 3>, strides = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// slice_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{strides must be at least 1, got 0}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

// slice_c5
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<1x2xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 3>, strides = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

// pad_c1
func.func @f(%a: tensor<2xf32>, %z: tensor<i32>) {
  // expected-error@+1 {{padding_value must have the element type of}}
  %0 = "stablehlo.pad"(%a, %z) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>} : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

// pad_c2
func.func @f(%a: tensor<2xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{edge_padding_high must have 1 entries, got 2}}
  %0 = "stablehlo.pad"(%a, %z) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// pad_c3
func.func @f(%a: tensor<2xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{interior_padding must be at least 0, got -1}}
  %0 = "stablehlo.pad"(%a, %z) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: -1>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// pad_c4: negative size
func.func @f(%a: tensor<2xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{padding must leave dimension 0 a size of at least 0}}
  %0 = "stablehlo.pad"(%a, %z) {edge_padding_low = array<i64: -2>, edge_padding_high = array<i64: -1>, interior_padding = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

// pad_c4: overflow
func.func @f(%a: tensor<3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{padding must leave dimension 0 a size of at least 0 that fits 64 bits}}
  %0 = "stablehlo.pad"(%a, %z) {edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 9223372036854775807>, interior_padding = array<i64: 9223372036854775807>} : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

// dynamic_slice_c2
func.func @f(%a: tensor<2x3xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{start_indices must have 2 entries, got 1}}
  %0 = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 1, 1>} : (tensor<2x3xf32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

// dynamic_slice_c3
func.func @f(%a: tensor<2x3xf32>, %i: tensor<i64>, %j: tensor<i32>) {
  // expected-error@+1 {{start_indices must have one type}}
  %0 = "stablehlo.dynamic_slice"(%a, %i, %j) {slice_sizes = array<i64: 1, 1>} : (tensor<2x3xf32>, tensor<i64>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

// dynamic_slice_c4
func.func @f(%a: tensor<2x3xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{slice_sizes[1] must be in [0, 3], got 4}}
  %0 = "stablehlo.dynamic_slice"(%a, %i, %i) {slice_sizes = array<i64: 1, 4>} : (tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
  return
}

// -----

// dynamic_update_slice_c2
func.func @f(%a: tensor<2x3xf32>, %u: tensor<1x1xi32>, %i: tensor<i64>) {
  // expected-error@+1 {{update must have the element type of}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i, %i) : (tensor<2x3xf32>, tensor<1x1xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// dynamic_update_slice_c3
func.func @f(%a: tensor<2x3xf32>, %u: tensor<1xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{update must have rank 2}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i, %i) : (tensor<2x3xf32>, tensor<1xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// dynamic_update_slice_c6
func.func @f(%a: tensor<2x3xf32>, %u: tensor<3x1xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{update must not be larger than}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i, %i) : (tensor<2x3xf32>, tensor<3x1xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// get_dimension_size_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimension must be in [0, 2), got 2}}
  %0 = "stablehlo.get_dimension_size"(%a) {dimension = 2 : i64} : (tensor<2x3xf32>) -> tensor<i32>
  return
}

// -----

// dynamic_reshape_c4
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{output_shape must have 1 entries, got 2}}
  %0 = "stablehlo.dynamic_reshape"(%a, %s) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

// dynamic_reshape_c1
func.func @f(%a: tensor<2x3xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.dynamic_reshape"(%a, %s) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xi32>
  return
}

// -----

// dynamic_reshape_c2
func.func @f(%a: tensor<2x3xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{result must have 6 elements}}
  %0 = "stablehlo.dynamic_reshape"(%a, %s) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<5xf32>
  return
}

// -----

// dynamic_iota_c2
func.func @f(%s: tensor<1xi64>) {
  // expected-error@+1 {{output_shape must have 2 entries, got 1}}
  %0 = "stablehlo.dynamic_iota"(%s) {iota_dimension = 0 : i64} : (tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c1
func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xi32>
  return
}

// -----

// dynamic_broadcast_in_dim_c2
func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{broadcast_dimensions must have 1 entries, got 2}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c3
func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{broadcast_dimensions must be in [0, 2), got 2}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 2>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c4
func.func @f(%a: tensor<3x3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{broadcast_dimensions must not repeat a value}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 1, 1>} : (tensor<3x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c5
func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{operand dimension 0 must be 1 or the size of result dimension 1 (4), got 3}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c9
func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{known_expanding_dimensions must be in [0, 1), got 1}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c10
func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{known_nonexpanding_dimensions must be in [0, 1), got -1}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 1>, known_nonexpanding_dimensions = array<i64: -1>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_pad_c1
func.func @f(%a: tensor<3xf32>, %z: tensor<f32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{padding_value and result must have the element type of}}
  %0 = "stablehlo.dynamic_pad"(%a, %z, %s, %s, %s) : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  return
}

// -----

// dynamic_pad_c4
func.func @f(%a: tensor<3xf32>, %z: tensor<f32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{result must have rank 1}}
  %0 = "stablehlo.dynamic_pad"(%a, %z, %s, %s, %s) : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

// set_dimension_size
func.func @f(%a: tensor<2x3xf32>, %s: tensor<i32>) {
  // expected-error@+1 {{dimension must be in [0, 2), got 2}}
  %0 = "stablehlo.set_dimension_size"(%a, %s) {dimension = 2 : i64} : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
  return
}

// -----

// real_dynamic_slice
func.func @f(%a: tensor<2x3xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{start_indices must have 2 entries, got 1}}
  %0 = "stablehlo.real_dynamic_slice"(%a, %s, %s, %s) : (tensor<2x3xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

// dynamic_update_slice_c1
func.func @f(%a: tensor<2x3xf32>, %u: tensor<1x1xf32>, %i: tensor<i64>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i, %i) : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
  return
}

// -----

// dynamic_update_slice_c4
func.func @f(%a: tensor<2x3xf32>, %u: tensor<1x1xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{start_indices must have 2 entries, got 1}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i) : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

// dynamic_update_slice_c5
func.func @f(%a: tensor<2x3xf32>, %u: tensor<1x1xf32>, %i: tensor<i64>, %j: tensor<i32>) {
  // expected-error@+1 {{start_indices must have one type}}
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %i, %j) : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<i64>, tensor<i32>) -> tensor<2x3xf32>
  return
}

// -----

// transpose_c4
func.func @f(%a: tensor<2x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}

// -----

// dynamic_iota_c1
func.func @f(%s: tensor<1xi64>) {
  // expected-error@+1 {{iota_dimension must be in [0, 1), got 1}}
  %0 = "stablehlo.dynamic_iota"(%s) {iota_dimension = 1 : i64} : (tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c7
func.func @f(%a: tensor<3xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{output_dimensions must have 2 entries, got 1}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>, tensor<1xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_broadcast_in_dim_c8
func.func @f(%a: tensor<3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{known dimensions must not repeat a value}}
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) {broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return
}

// -----

// dynamic_pad_c2
func.func @f(%a: tensor<3xf32>, %z: tensor<f32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{edge_padding_low must have 1 entries, got 2}}
  %0 = "stablehlo.dynamic_pad"(%a, %z, %s, %s, %s) : (tensor<3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

// bounds
func.func @f() {
  // expected-error@+1 {{expected one bound per dimension (1), got 2}}
  %0 = "stablehlo.custom_call"() {call_target_name = "x"} : () -> tensor<?xf32, #stablehlo.bounds<2, 3>>
  return
}

// -----

// reshape_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5:7>>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5:7>>) -> tensor<2x1x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

// reshape_c1: the axis may move, its scales stay.
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) {
  %0 = "stablehlo.reshape"(%a) : (tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x1x2x!quant.uniform<i8:f32:2, {0.5, 0.25}>>
  // expected-error@+1 {{result must have the element type of}}
  %1 = "stablehlo.reshape"(%a) : (tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x1x2x!quant.uniform<i8:f32:2, {0.5, 0.5}>>
  return
}

// -----

// reshape_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.reshape"(%a) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x1x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

// transpose_c1
func.func @f(%a: tensor<2x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<2x1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.5, 0.5}>>
  return
}

// -----

// broadcast_in_dim_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 1>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

// broadcast_in_dim_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // expected-error@+1 {{scales and zero points of the result must be the operand's}}
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 1>} : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.25, 0.5}>>
  return
}

// -----

// concatenate_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.25>>) {
  // expected-error@+1 {{inputs must have one element type}}
  %0 = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.25>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

// slice_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+2 {{inferred type(s)}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.slice"(%a) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>, strides = array<i64: 1>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

// pad_c1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %z: tensor<!quant.uniform<i8:f32, 0.25>>) {
  // expected-error@+1 {{padding_value must have the element type of}}
  %0 = "stablehlo.pad"(%a, %z) {edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>} : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.25>>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>
  return
}
