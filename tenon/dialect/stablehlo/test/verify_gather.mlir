// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// dynamic_gather_c1
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{must have as many entries as}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c2
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{index_vector_dim must be in [0, 3), got 4}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 4>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c3
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{start_index_map must have 1 entries, got 0}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c4
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{offset_dims must be sorted}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c5
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{offset_dims must be in [0, 2), got 5}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [5], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c6
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{collapsed_slice_dims must not repeat a value}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c7
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{collapsed_slice_dims must be in [0, 2), got 3}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [3], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c10
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{start_index_map must be in [0, 2), got 3}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [3], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}

// -----

// dynamic_gather_c13
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<4x?xf32>
  return
}

// -----

// dynamic_gather_c14
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<2xi64>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<2xi64>) -> tensor<5x?xf64>
  return
}

// -----

// gather_c1
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{must have as many entries as}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c2
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{index_vector_dim must be in [0, 3), got 3}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c3
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{start_index_map must have 1 entries, got 2}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c4
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{offset_dims must be sorted, got [1, 0]}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c5
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{offset_dims must be in [0, 2), got 2}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c6
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{collapsed_slice_dims must not repeat a value, got [0, 0]}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c7
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{collapsed_slice_dims must be sorted}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c8
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{collapsed_slice_dims must be in [0, 2), got 7}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [7], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c9
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{slice_sizes[0] must be at most 1}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c11
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{operand_batching_dims must be in [0, 2), got -1}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [-1], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c14
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{start_indices_batching_dims must be in [0, 2), got 9}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [9], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c15
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{must not hold index_vector_dim 1}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c16
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{start_indices_batching_dims must have 0 entries, got 1}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c17
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{batching dimension 0 of}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c18
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x2xi64>) {
  // expected-error@+1 {{start_index_map must not repeat a value}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x2xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c19
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{start_index_map must be in [0, 2), got 2}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c10
func.func @f(%a: tensor<5x5xf32>, %i: tensor<5x5x1xi64>) {
  // expected-error@+1 {{operand_batching_dims must be sorted, got [1, 0]}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 3>} : (tensor<5x5xf32>, tensor<5x5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c12
func.func @f(%a: tensor<5x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{slice_sizes[0] must be at most 1}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>} : (tensor<5x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c13
func.func @f(%a: tensor<5x5xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{start_indices_batching_dims must not repeat a value}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x5xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c23
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+2 {{inferred type(s) 'tensor<5x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf64>
  return
}

// -----

// gather_c20
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{slice_sizes must have 2 entries, got 3}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3, 1>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c21
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+1 {{slice_sizes[1] must be in [0, 3], got 4}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return
}

// -----

// gather_c22
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>) {
  // expected-error@+2 {{inferred type(s) 'tensor<5x3xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<5x1xi64>) -> tensor<5x2xf32>
  return
}

// -----

// dynamic_gather_c11
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %s: tensor<1xi64>) {
  // expected-error@+1 {{slice_sizes must have 2 entries, got 1}}
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<1xi64>) -> tensor<5x?xf32>
  return
}

// -----

// scatter_c2
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{must have as many entries as}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c4
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<4x3xf32>) {
  // expected-error@+1 {{dimension 0 of the updates must be 5, got 4}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c4
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x4xf32>) {
  // expected-error@+1 {{window dimension 1 of the updates must be at most 3, got 4}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c4
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3x1xf32>) {
  // expected-error@+1 {{updates must have rank 2}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c6
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf64>) {
  // expected-error@+1 {{updates must have the element type of}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf64>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c7
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{update_window_dims must be sorted}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c8
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{update_window_dims must be in [0, 2), got 2}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c9
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{inserted_window_dims must not repeat a value}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c11
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{inserted_window_dims must be in [0, 2), got 2}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c1
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>, %b: tensor<3x2xf32>) {
  // expected-error@+1 {{each input must have shape}}
  %0:2 = "stablehlo.scatter"(%a, %b, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<5x1xi64>, tensor<5x3xf32>, tensor<5x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

// scatter_c3
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>, %b: tensor<5x2xf32>) {
  // expected-error@+1 {{each update must have shape}}
  %0:2 = "stablehlo.scatter"(%a, %a, %i, %u, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>, tensor<5x2xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

// scatter_c5
func.func @f(%i: tensor<5x1xi64>) {
  // expected-error@+1 {{expected at least one input}}
  "stablehlo.scatter"(%i) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
      stablehlo.return
    }) : (tensor<5x1xi64>) -> ()
  return
}

// -----

// scatter_c10
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{inserted_window_dims must be sorted, got [1, 0]}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c13
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{input_batching_dims must be in [0, 2), got 5}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [5], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c15
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{scatter_indices_batching_dims must be in [0, 2), got -3}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [-3], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c16
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{must not hold index_vector_dim 1}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c17
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{scatter_indices_batching_dims must have 1 entries, got 0}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c18
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{batching dimension 0 of}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c20
func.func @f(%a: tensor<5x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{scatter_dims_to_operand_dims must not repeat a value}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

// scatter_c24
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

// scatter_c19
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{scatter_dims_to_operand_dims must have 1 entries, got 2}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c21
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{scatter_dims_to_operand_dims must be in [0, 2), got 2}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c22
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{index_vector_dim must be in [0, 3), got -1}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = -1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c23
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{update_computation must take 2 arguments, got 1}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c23: promotion
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{update_computation must work on a type that elements of}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f16>, %r: tensor<f16>):
      stablehlo.return %l : tensor<f16>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// scatter_c25
func.func @f(%a: tensor<2x3xf32>, %i: tensor<5x1xi64>, %u: tensor<5x3xf32>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x3xf32>) -> tensor<2x3xf64>
  return
}

// -----

// torch_index_select: element types
func.func @f(%a: tensor<4xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{result must have the element type of}}
  %0 = "stablehlo.torch_index_select"(%a, %i) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<4xf32>, tensor<2xi32>) -> tensor<2xi32>
  return
}
