// fuzz: data=681022086 specials=0 tolerance=0,0,0
module {
  func.func @main(%arg0: tensor<2xf32> {tf.aliasing_output = 2 : i32}) -> (tensor<1xi32>, tensor<1xi32>, tensor<2xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
    %c = stablehlo.constant dense<0> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<2> : tensor<0xi64>
    %1 = "stablehlo.gather"(%0, %c_0) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0]>, slice_sizes = array<i64: 1, 2>}> : (tensor<2x2xf32>, tensor<0xi64>) -> tensor<2xf32>
    return %c, %c, %1 : tensor<1xi32>, tensor<1xi32>, tensor<2xf32>
  }
}

