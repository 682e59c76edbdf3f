// plain.bc holds this program as bytecode of the StableHLO dialect itself, written by jaxlib 0.10.2 (StableHLO 1.17).
module @plain {
  func.func public @main(%x: tensor<2x3xf32>, %m: tensor<3x4xf32>, %i: tensor<2x1xi32>) -> tensor<2x4xf32> {
    %0 = stablehlo.compare LT, %x, %x, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %1 = stablehlo.select %0, %x, %x : tensor<2x3xi1>, tensor<2x3xf32>
    %2 = stablehlo.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
    %3 = "stablehlo.custom_call"(%1) {call_target_name = "f", has_side_effect = true, backend_config = {a = 1 : i64}, api_version = 4 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %4 = "stablehlo.gather"(%3, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
    %5 = "stablehlo.dot_general"(%4, %m) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    return %5 : tensor<2x4xf32>
  }
}
