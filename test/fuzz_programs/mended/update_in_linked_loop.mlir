// fuzz: data=9012215 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1x7x2x2xi64>) -> tensor<i32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<1x7x2x2xi64>
    cond {
      %c_1 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c_1 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<[[3, 0, 4, -1, 4, 4, 0]]> : tensor<1x7xi64>
      %c_2 = stablehlo.constant dense<0> : tensor<1x7x1xi64>
      %1 = "stablehlo.scatter"(%iterArg_0, %c_1, %c_2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [2, 3], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
      ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
        stablehlo.return %arg1 : tensor<i64>
      }) : (tensor<1x7x2x2xi64>, tensor<1x7xi64>, tensor<1x7x1xi64>) -> tensor<1x7x2x2xi64>
      %c_3 = stablehlo.constant dense<0> : tensor<i32>
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %2 = stablehlo.dynamic_slice %1, %c_3, %c_3, %c_3, %c_4, sizes = [1, 7, 2, 1] : (tensor<1x7x2x2xi64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x7x2x1xi64>
      %3 = stablehlo.dynamic_update_slice %1, %2, %c_3, %c_3, %c_3, %iterArg : (tensor<1x7x2x2xi64>, tensor<1x7x2x1xi64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x7x2x2xi64>
      %c_5 = stablehlo.constant dense<0> : tensor<i32>
      stablehlo.return %c_5, %3 : tensor<i32>, tensor<1x7x2x2xi64>
    }
    return %0#0 : tensor<i32>
  }
}

