// Rows that are combined before they are stored are no square tile to transpose.
// fuzz: data=5309 specials=1 tolerance=0
module {
  func.func @main(%arg0: tensor<4x1xi32>, %arg1: tensor<4x1x4xi32>) -> tensor<4x1xi32> {
    %c = stablehlo.constant dense<0> : tensor<1x4x1xi32>
    %0 = "stablehlo.scatter"(%arg0, %c, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      stablehlo.return %arg2 : tensor<i32>
    }) : (tensor<4x1xi32>, tensor<1x4x1xi32>, tensor<4x1x4xi32>) -> tensor<4x1xi32>
    return %0 : tensor<4x1xi32>
  }
}

