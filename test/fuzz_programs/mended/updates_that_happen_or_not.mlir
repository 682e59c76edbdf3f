// fuzz: data=1 specials=0 tolerance=0
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x9x4xf32>, %arg1: tensor<5xi1>, %arg2: tensor<5xi32>, %arg3: tensor<5x2x3xf32>, %arg4: tensor<40xf32>, %arg5: tensor<i32>, %arg6: tensor<7xf32>) -> (tensor<5x9x4xf32>, tensor<5x9x4xf32> {jax.result_info = "result[1]"}, tensor<40xf32> {jax.result_info = "result[2]"}, tensor<40xf32> {jax.result_info = "result[3]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %1 = stablehlo.compare LT, %arg2, %0, SIGNED : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %c_0 = stablehlo.constant dense<9> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %3 = stablehlo.add %arg2, %2 : tensor<5xi32>
    %4 = stablehlo.select %1, %3, %arg2 : tensor<5xi1>, tensor<5xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<5x1xi32>
    %7 = stablehlo.concatenate %5, %6, dim = 1 : (tensor<5x1xi32>, tensor<5x1xi32>) -> tensor<5x2xi32>
    %c_2 = stablehlo.constant dense<[7, 1]> : tensor<2xi32>
    %c_3 = stablehlo.constant dense<2147483647> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %9 = stablehlo.minimum %c_2, %8 : tensor<2xi32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<2xi32>) -> tensor<5x2xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<5x2xi32>
    %12 = stablehlo.clamp %11, %7, %10 : tensor<5x2xi32>
    %13 = "stablehlo.scatter"(%arg0, %12, %arg3) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      stablehlo.return %arg8 : tensor<f32>
    }) : (tensor<5x9x4xf32>, tensor<5x2xi32>, tensor<5x2x3xf32>) -> tensor<5x9x4xf32>
    %14 = call @_where(%arg1, %13, %arg0) : (tensor<5xi1>, tensor<5x9x4xf32>, tensor<5x9x4xf32>) -> tensor<5x9x4xf32>
    %15 = stablehlo.slice %arg3 [0:5, 0:1, 0:1] : (tensor<5x2x3xf32>) -> tensor<5x1x1xf32>
    %16 = stablehlo.reshape %15 : (tensor<5x1x1xf32>) -> tensor<5xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %17 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %18 = stablehlo.compare LT, %arg2, %17, SIGNED : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %c_6 = stablehlo.constant dense<9> : tensor<i32>
    %19 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %20 = stablehlo.add %arg2, %19 : tensor<5xi32>
    %21 = stablehlo.select %18, %20, %arg2 : tensor<5xi1>, tensor<5xi32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %c_7 = stablehlo.constant dense<1> : tensor<i32>
    %23 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [1] : (tensor<1xi32>) -> tensor<5x1xi32>
    %25 = stablehlo.concatenate %22, %24, dim = 1 : (tensor<5x1xi32>, tensor<5x1xi32>) -> tensor<5x2xi32>
    %26 = "stablehlo.scatter"(%arg0, %25, %16) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %55 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %55 : tensor<f32>
    }) : (tensor<5x9x4xf32>, tensor<5x2xi32>, tensor<5xf32>) -> tensor<5x9x4xf32>
    %c_8 = stablehlo.constant dense<1> : tensor<i32>
    %27 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %28 = stablehlo.add %arg2, %27 : tensor<5xi32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %29 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %30 = stablehlo.compare LT, %28, %29, SIGNED : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %c_10 = stablehlo.constant dense<9> : tensor<i32>
    %31 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %32 = stablehlo.add %28, %31 : tensor<5xi32>
    %33 = stablehlo.select %30, %32, %28 : tensor<5xi1>, tensor<5xi32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %35 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [1] : (tensor<1xi32>) -> tensor<5x1xi32>
    %37 = stablehlo.concatenate %34, %36, dim = 1 : (tensor<5x1xi32>, tensor<5x1xi32>) -> tensor<5x2xi32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %39 = "stablehlo.scatter"(%26, %37, %38) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %55 = stablehlo.multiply %arg7, %arg8 : tensor<f32>
      stablehlo.return %55 : tensor<f32>
    }) : (tensor<5x9x4xf32>, tensor<5x2xi32>, tensor<5xf32>) -> tensor<5x9x4xf32>
    %40 = call @_where(%arg1, %arg0, %39) : (tensor<5xi1>, tensor<5x9x4xf32>, tensor<5x9x4xf32>) -> tensor<5x9x4xf32>
    %41 = stablehlo.slice %arg1 [3:4] : (tensor<5xi1>) -> tensor<1xi1>
    %42 = stablehlo.reshape %41 : (tensor<1xi1>) -> tensor<i1>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %43 = stablehlo.compare LT, %arg5, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_13 = stablehlo.constant dense<40> : tensor<i32>
    %44 = stablehlo.add %arg5, %c_13 : tensor<i32>
    %45 = stablehlo.select %43, %44, %arg5 : tensor<i1>, tensor<i32>
    %46 = stablehlo.dynamic_update_slice %arg4, %arg6, %45 : (tensor<40xf32>, tensor<7xf32>, tensor<i32>) -> tensor<40xf32>
    %47 = call @_where_0(%42, %arg4, %46) : (tensor<i1>, tensor<40xf32>, tensor<40xf32>) -> tensor<40xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<40xf32>
    %49 = stablehlo.compare GT, %arg4, %48, FLOAT : (tensor<40xf32>, tensor<40xf32>) -> tensor<40xi1>
    %c_15 = stablehlo.constant dense<0> : tensor<i32>
    %50 = stablehlo.compare LT, %arg5, %c_15, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_16 = stablehlo.constant dense<40> : tensor<i32>
    %51 = stablehlo.add %arg5, %c_16 : tensor<i32>
    %52 = stablehlo.select %50, %51, %arg5 : tensor<i1>, tensor<i32>
    %53 = stablehlo.dynamic_update_slice %arg4, %arg6, %52 : (tensor<40xf32>, tensor<7xf32>, tensor<i32>) -> tensor<40xf32>
    %54 = call @_where_1(%49, %53, %arg4) : (tensor<40xi1>, tensor<40xf32>, tensor<40xf32>) -> tensor<40xf32>
    return %14, %40, %47, %54 : tensor<5x9x4xf32>, tensor<5x9x4xf32>, tensor<40xf32>, tensor<40xf32>
  }
  func.func private @_where(%arg0: tensor<5xi1>, %arg1: tensor<5x9x4xf32>, %arg2: tensor<5x9x4xf32>) -> tensor<5x9x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<5xi1>) -> tensor<5x9x4xi1>
    %1 = stablehlo.select %0, %arg1, %arg2 : tensor<5x9x4xi1>, tensor<5x9x4xf32>
    return %1 : tensor<5x9x4xf32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<40xf32>, %arg2: tensor<40xf32>) -> tensor<40xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<40xf32>
    return %0 : tensor<40xf32>
  }
  func.func private @_where_1(%arg0: tensor<40xi1>, %arg1: tensor<40xf32>, %arg2: tensor<40xf32>) -> tensor<40xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<40xi1>, tensor<40xf32>
    return %0 : tensor<40xf32>
  }
}

