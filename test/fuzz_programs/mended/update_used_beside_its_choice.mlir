// fuzz: data=980008005 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1x1x1xi1>) -> tensor<1x1xi32> {
    %c = stablehlo.constant dense<false> : tensor<1x1x1xi1>
    %c_0 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<1x1x1xi32>
    %c_2 = stablehlo.constant dense<false> : tensor<1x1xi1>
    %0 = "stablehlo.scatter"(%c, %c_1, %c_2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], input_batching_dims = [2], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg1: tensor<i1>, %arg2: tensor<i1>):
      %3 = stablehlo.and %arg1, %arg2 : tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<1x1x1xi1>, tensor<1x1x1xi32>, tensor<1x1xi1>) -> tensor<1x1x1xi1>
    %1 = stablehlo.select %arg0, %c, %0 : tensor<1x1x1xi1>, tensor<1x1x1xi1>
    %2:2 = stablehlo.while(%iterArg = %c_0, %iterArg_3 = %0) : tensor<1x1xi32>, tensor<1x1x1xi1>
    cond {
      %c_4 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c_4 : tensor<i1>
    } do {
      %c_4 = stablehlo.constant dense<0> : tensor<1x1xi32>
      stablehlo.return %c_4, %1 : tensor<1x1xi32>, tensor<1x1x1xi1>
    }
    return %2#0 : tensor<1x1xi32>
  }
}

