// fuzz: data=1 specials=0 tolerance=0
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<21xf32>) -> (tensor<i32>, tensor<i32> {jax.result_info = "result[0][1]"}, tensor<i8> {jax.result_info = "result[0][2]"}, tensor<f32> {jax.result_info = "result[0][3]"}, tensor<300xi32> {jax.result_info = "result[1][0]"}, tensor<300xi32> {jax.result_info = "result[1][1]"}, tensor<300xi8> {jax.result_info = "result[1][2]"}, tensor<300xf32> {jax.result_info = "result[1][3]"}) {
    %0 = stablehlo.iota dim = 0 : tensor<16xi32>
    %c = stablehlo.constant dense<37> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %2 = stablehlo.multiply %0, %1 : tensor<16xi32>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %4 = stablehlo.add %2, %3 : tensor<16xi32>
    %c_0 = stablehlo.constant dense<61> : tensor<i32>
    %5 = call @remainder(%4, %c_0) : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %c_1 = stablehlo.constant dense<30> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %7 = stablehlo.subtract %5, %6 : tensor<16xi32>
    %8 = stablehlo.convert %7 : (tensor<16xi32>) -> tensor<16xi8>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<3> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i8>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<300xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %10 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<300xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i8>
    %11 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i8>) -> tensor<300xi8>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<300xf32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %13:12 = stablehlo.while(%iterArg = %7, %iterArg_10 = %8, %iterArg_11 = %arg1, %iterArg_12 = %c_9, %iterArg_13 = %c_2, %iterArg_14 = %c_3, %iterArg_15 = %c_4, %iterArg_16 = %cst, %iterArg_17 = %9, %iterArg_18 = %10, %iterArg_19 = %11, %iterArg_20 = %12) : tensor<16xi32>, tensor<16xi8>, tensor<21xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<300xi32>, tensor<300xi32>, tensor<300xi8>, tensor<300xf32>
    cond {
      %c_21 = stablehlo.constant dense<300> : tensor<i32>
      %14 = stablehlo.compare LT, %iterArg_12, %c_21, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14:8 = func.call @closed_call(%iterArg, %iterArg_10, %iterArg_11, %iterArg_13, %iterArg_14, %iterArg_15, %iterArg_16) : (tensor<16xi32>, tensor<16xi8>, tensor<21xf32>, tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>) -> (tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>)
      %15 = func.call @dynamic_update_index_in_dim(%iterArg_17, %14#4, %iterArg_12) : (tensor<300xi32>, tensor<i32>, tensor<i32>) -> tensor<300xi32>
      %16 = func.call @dynamic_update_index_in_dim(%iterArg_18, %14#5, %iterArg_12) : (tensor<300xi32>, tensor<i32>, tensor<i32>) -> tensor<300xi32>
      %17 = func.call @dynamic_update_index_in_dim_2(%iterArg_19, %14#6, %iterArg_12) : (tensor<300xi8>, tensor<i8>, tensor<i32>) -> tensor<300xi8>
      %18 = func.call @dynamic_update_index_in_dim_3(%iterArg_20, %14#7, %iterArg_12) : (tensor<300xf32>, tensor<f32>, tensor<i32>) -> tensor<300xf32>
      %c_21 = stablehlo.constant dense<1> : tensor<i32>
      %19 = stablehlo.add %iterArg_12, %c_21 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_10, %iterArg_11, %19, %14#0, %14#1, %14#2, %14#3, %15, %16, %17, %18 : tensor<16xi32>, tensor<16xi8>, tensor<21xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<300xi32>, tensor<300xi32>, tensor<300xi8>, tensor<300xf32>
    }
    return %13#4, %13#5, %13#6, %13#7, %13#8, %13#9, %13#10, %13#11 : tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<300xi32>, tensor<300xi32>, tensor<300xi8>, tensor<300xf32>
  }
  func.func private @remainder(%arg0: tensor<16xi32>, %arg1: tensor<i32>) -> tensor<16xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<16xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<16xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %12 = stablehlo.and %11, %6 : tensor<16xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %14 = stablehlo.add %4, %13 : tensor<16xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<16xi1>, tensor<16xi32>
    return %15 : tensor<16xi32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<16xi32>, %arg1: tensor<16xi8>, %arg2: tensor<21xf32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i8>, %arg6: tensor<f32>) -> (tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg3, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<16> : tensor<i32>
    %1 = stablehlo.add %arg3, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg3 : tensor<i1>, tensor<i32>
    %3 = stablehlo.dynamic_slice %arg0, %2, sizes = [1] : (tensor<16xi32>, tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.reshape %3 : (tensor<1xi32>) -> tensor<i32>
    %c_1 = stablehlo.constant dense<3> : tensor<i32>
    %5 = stablehlo.and %4, %c_1 : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.compare EQ, %5, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.add %arg3, %arg4 : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.compare LT, %7, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_4 = stablehlo.constant dense<16> : tensor<i32>
    %9 = stablehlo.add %7, %c_4 : tensor<i32>
    %10 = stablehlo.select %8, %9, %7 : tensor<i1>, tensor<i32>
    %11 = stablehlo.dynamic_slice %arg0, %10, sizes = [1] : (tensor<16xi32>, tensor<i32>) -> tensor<1xi32>
    %12 = stablehlo.reshape %11 : (tensor<1xi32>) -> tensor<i32>
    %c_5 = stablehlo.constant dense<1> : tensor<i32>
    %13 = stablehlo.add %4, %c_5 : tensor<i32>
    %14 = call @_where(%6, %12, %13) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %15:3 = stablehlo.while(%iterArg = %arg0, %iterArg_15 = %arg0, %iterArg_16 = %arg4) : tensor<16xi32>, tensor<16xi32>, tensor<i32>
    cond {
      %c_17 = stablehlo.constant dense<-20> : tensor<i32>
      %35 = stablehlo.compare GT, %iterArg_16, %c_17, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_18 = stablehlo.constant dense<0> : tensor<i32>
      %36 = stablehlo.compare LT, %iterArg_16, %c_18, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_19 = stablehlo.constant dense<16> : tensor<i32>
      %37 = stablehlo.add %iterArg_16, %c_19 : tensor<i32>
      %38 = stablehlo.select %36, %37, %iterArg_16 : tensor<i1>, tensor<i32>
      %39 = stablehlo.dynamic_slice %iterArg, %38, sizes = [1] : (tensor<16xi32>, tensor<i32>) -> tensor<1xi32>
      %40 = stablehlo.reshape %39 : (tensor<1xi32>) -> tensor<i32>
      %c_20 = stablehlo.constant dense<7> : tensor<i32>
      %41 = stablehlo.compare NE, %40, %c_20, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %42 = stablehlo.and %35, %41 : tensor<i1>
      %c_21 = stablehlo.constant dense<40> : tensor<i32>
      %43 = stablehlo.compare LT, %iterArg_16, %c_21, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %44 = stablehlo.and %42, %43 : tensor<i1>
      stablehlo.return %44 : tensor<i1>
    } do {
      %c_17 = stablehlo.constant dense<1> : tensor<i32>
      %35 = stablehlo.subtract %iterArg_16, %c_17 : tensor<i32>
      %c_18 = stablehlo.constant dense<0> : tensor<i32>
      %36 = stablehlo.compare LT, %35, %c_18, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_19 = stablehlo.constant dense<16> : tensor<i32>
      %37 = stablehlo.add %35, %c_19 : tensor<i32>
      %38 = stablehlo.select %36, %37, %35 : tensor<i1>, tensor<i32>
      %39 = stablehlo.dynamic_slice %iterArg_15, %38, sizes = [1] : (tensor<16xi32>, tensor<i32>) -> tensor<1xi32>
      %40 = stablehlo.reshape %39 : (tensor<1xi32>) -> tensor<i32>
      %c_20 = stablehlo.constant dense<2> : tensor<i32>
      %41 = stablehlo.multiply %40, %c_20 : tensor<i32>
      %c_21 = stablehlo.constant dense<11> : tensor<i32>
      %42 = stablehlo.subtract %41, %c_21 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_15, %42 : tensor<16xi32>, tensor<16xi32>, tensor<i32>
    }
    %c_6 = stablehlo.constant dense<0> : tensor<i8>
    %16 = stablehlo.compare GT, %arg5, %c_6, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %c_7 = stablehlo.constant dense<0> : tensor<i8>
    %17 = stablehlo.compare LT, %arg5, %c_7, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %c_8 = stablehlo.constant dense<16> : tensor<i8>
    %18 = stablehlo.add %arg5, %c_8 : tensor<i8>
    %19 = stablehlo.select %17, %18, %arg5 : tensor<i1>, tensor<i8>
    %20 = stablehlo.dynamic_slice %arg1, %19, sizes = [1] : (tensor<16xi8>, tensor<i8>) -> tensor<1xi8>
    %21 = stablehlo.reshape %20 : (tensor<1xi8>) -> tensor<i8>
    %c_9 = stablehlo.constant dense<5> : tensor<i8>
    %22 = stablehlo.add %arg5, %c_9 : tensor<i8>
    %23 = call @_where_0(%16, %21, %22) : (tensor<i1>, tensor<i8>, tensor<i8>) -> tensor<i8>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %24 = stablehlo.compare GT, %arg3, %c_10, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_11 = stablehlo.constant dense<3> : tensor<i32>
    %25 = stablehlo.compare LT, %15#2, %c_11, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %26 = stablehlo.or %24, %25 : tensor<i1>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %27 = stablehlo.compare LT, %14, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_13 = stablehlo.constant dense<21> : tensor<i32>
    %28 = stablehlo.add %14, %c_13 : tensor<i32>
    %29 = stablehlo.select %27, %28, %14 : tensor<i1>, tensor<i32>
    %30 = stablehlo.dynamic_slice %arg2, %29, sizes = [1] : (tensor<21xf32>, tensor<i32>) -> tensor<1xf32>
    %31 = stablehlo.reshape %30 : (tensor<1xf32>) -> tensor<f32>
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %32 = stablehlo.multiply %arg6, %cst : tensor<f32>
    %33 = call @_where_1(%26, %31, %32) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %c_14 = stablehlo.constant dense<23> : tensor<i32>
    %34 = stablehlo.remainder %15#2, %c_14 : tensor<i32>
    return %14, %34, %23, %33, %14, %15#2, %23, %33 : tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<i8>, tensor<f32>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<i8>, %arg2: tensor<i8>) -> tensor<i8> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i8>
    return %0 : tensor<i8>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<300xi32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<300xi32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<300xi32>, tensor<1xi32>, tensor<i32>) -> tensor<300xi32>
    return %1 : tensor<300xi32>
  }
  func.func private @dynamic_update_index_in_dim_2(%arg0: tensor<300xi8>, %arg1: tensor<i8>, %arg2: tensor<i32>) -> tensor<300xi8> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i8>) -> tensor<1xi8>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<300xi8>, tensor<1xi8>, tensor<i32>) -> tensor<300xi8>
    return %1 : tensor<300xi8>
  }
  func.func private @dynamic_update_index_in_dim_3(%arg0: tensor<300xf32>, %arg1: tensor<f32>, %arg2: tensor<i32>) -> tensor<300xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<1xf32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2 : (tensor<300xf32>, tensor<1xf32>, tensor<i32>) -> tensor<300xf32>
    return %1 : tensor<300xf32>
  }
}

