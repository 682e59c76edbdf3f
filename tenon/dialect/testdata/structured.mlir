// Ops whose structured attributes are spread over many portable ones, and whose defaults are left out.
module @structured {
  func.func private @helper(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    return %x : tensor<4x8xf32>
  }
  func.func public @main(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %image: tensor<1x8x8x3xf32>, %kernel: tensor<3x3x3x4xf32>, %i: tensor<5x1xi32>, %u: tensor<5x8xf32>) -> (tensor<4x16xf32>, tensor<1x6x6x4xf32>) {
    %0 = "stablehlo.dot_general"(%x, %w) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = "stablehlo.convolution"(%image, %kernel) {batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>
    %2 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>} : (tensor<4x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>
    %3 = "stablehlo.scatter"(%x, %i, %2) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true} : (tensor<4x8xf32>, tensor<5x1xi32>, tensor<5x8xf32>) -> tensor<4x8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = "stablehlo.reduce"(%3, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {dimensions = array<i64: 1>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = "stablehlo.broadcast_in_dim"(%4) {broadcast_dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x8xf32>
    %6 = "stablehlo.reduce_window"(%5, %zero) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x5xf32>
    %7:2 = "stablehlo.sort"(%5, %5) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %s = "stablehlo.compare"(%a, %b) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) {dimension = 1 : i64, is_stable = true} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %n = stablehlo.constant dense<0> : tensor<i32>
    %8:2 = "stablehlo.while"(%n, %7#0) ({
    ^bb0(%k: tensor<i32>, %v: tensor<4x8xf32>):
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %c = "stablehlo.compare"(%k, %limit) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%k: tensor<i32>, %v: tensor<4x8xf32>):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %k, %one : tensor<i32>
      %h = func.call @helper(%v) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %next, %h : tensor<i32>, tensor<4x8xf32>
    }) : (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>)
    %9 = "stablehlo.case"(%n) ({
      stablehlo.return %8#1 : tensor<4x8xf32>
    }, {
      stablehlo.return %7#1 : tensor<4x8xf32>
    }) : (tensor<i32>) -> tensor<4x8xf32>
    %10 = "stablehlo.slice"(%9) {start_indices = array<i64: 0, 2>, limit_indices = array<i64: 4, 6>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %11 = "stablehlo.transpose"(%10) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %12 = "stablehlo.pad"(%11, %zero) {edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 1>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %13 = "stablehlo.concatenate"(%12, %9) {dimension = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %14 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<4xi32>
    %15 = "stablehlo.dynamic_slice"(%13, %n, %n) {slice_sizes = array<i64: 2, 2>} : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %16 = "stablehlo.fft"(%x) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>} : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
    return %0, %1 : tensor<4x16xf32>, tensor<1x6x6x4xf32>
  }
}
