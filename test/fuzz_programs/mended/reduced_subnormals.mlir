// fuzz: data=671008281 specials=0 tolerance=0
module {
  func.func @main(%arg0: tensor<2x1x2x1xui32>) -> tensor<1x2x2x2xbf16> {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<2x1x2x1xui32>) -> tensor<2x1x2x1x2xbf16>
    %c = stablehlo.constant dense<0> : tensor<1x2x4xi32>
    %1 = "stablehlo.gather"(%0, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [1, 3], operand_batching_dims = [4], start_indices_batching_dims = [1], start_index_map = [0, 3, 1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 2, 1, 2, 1, 1>}> : (tensor<2x1x2x1x2xbf16>, tensor<1x2x4xi32>) -> tensor<1x2x2x2xbf16>
    %2 = stablehlo.reduce_precision %1, format = e8m7 : tensor<1x2x2x2xbf16>
    return %2 : tensor<1x2x2x2xbf16>
  }
}

