// fuzz: data=1 specials=0 tolerance=0z
func.func @main(%x: tensor<4x1xf32>, %y: tensor<4x1xf32>, %z: tensor<4x1xf32>, %p: tensor<4xi32>) -> (tensor<4xf32>) {
  %c = stablehlo.concatenate %x, %y, %z, dim = 1 : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %i = stablehlo.iota dim = 0 : tensor<1xi32>
  %ib = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<1xi32>) -> tensor<4xi32>
  %i0 = stablehlo.reshape %ib : (tensor<4xi32>) -> tensor<4x1xi32>
  %p0 = stablehlo.reshape %p : (tensor<4xi32>) -> tensor<4x1xi32>
  %ix = stablehlo.concatenate %i0, %p0, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %g = "stablehlo.gather"(%c, %ix) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x3xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}
