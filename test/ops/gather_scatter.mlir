// Rows by number; a start beyond the end is moved back inside.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[[2], [0], [7]]> : tensor<3x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>, indices_are_sorted = false}> : (tensor<3x2xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %r, dense<[[5, 6], [1, 2], [5, 6]]> : tensor<3x2xi32>
  func.return
}

// -----

// Batching dimensions: one index per row.
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<[[[2], [0]], [[1], [1]]]> : tensor<2x2x1xi32>
  %r = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0],
                                          start_index_map = [1], index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<2x3xi32>, tensor<2x2x1xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %r, dense<[[3, 1], [5, 5]]> : tensor<2x2xi32>
  func.return
}

// -----

// Windows that do not lie inside as a whole are dropped; the others add up, also on the same place.
func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
  %i = stablehlo.constant dense<[[-1], [0], [4], [3]]> : tensor<4x1xi32>
  %u = stablehlo.constant dense<[[10, 20], [30, 40], [50, 60], [70, 80]]> : tensor<4x2xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<5xi32>, tensor<4x1xi32>, tensor<4x2xi32>) -> tensor<5xi32>
  check.expect_eq_const %r, dense<[30, 41, 2, 73, 84]> : tensor<5xi32>
  func.return
}

// -----

// What combines may be a mathematical function.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, 1.0, 4.0, 9.0]> : tensor<4xf32>
  %i = stablehlo.constant dense<[[3], [2]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %r = "stablehlo.scatter"(%x, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.cosine %b : tensor<f32>
    %e = stablehlo.exponential %c : tensor<f32>
    %s = stablehlo.add %a, %e : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
  check.expect_almost_eq_const %r, dense<[0.0, 1.0, 5.7165257, 11.718282]> : tensor<4xf32>
  func.return
}

// -----

// Calls that only say where data lies give it back.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %a = stablehlo.custom_call @LayoutConstraint(%x) : (tensor<2xi32>) -> tensor<2xi32>
  %b = stablehlo.custom_call @MoveToHost(%a) : (tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %b, dense<[1, 2]> : tensor<2xi32>
  func.return
}
