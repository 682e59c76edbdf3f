module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128x256xf32>, %arg1: tensor<256x10xf32>, %arg2: tensor<128x128xf32>) -> (tensor<128x256xf32> {jax.result_info = "result[0]"}, tensor<256x10xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x128xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
    %1 = call @relu(%0) : (tensor<128x256xf32>) -> tensor<128x256xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<128x256xf32>
    %3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xi1>
    %4 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x256xf32>, tensor<256x10xf32>) -> tensor<128x10xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<128x10xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<128x10xf32>
    %8 = stablehlo.multiply %7, %6 : tensor<128x10xf32>
    %9 = stablehlo.dot_general %8, %1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x10xf32>, tensor<128x256xf32>) -> tensor<10x256xf32>
    %10 = stablehlo.transpose %9, dims = [1, 0] : (tensor<10x256xf32>) -> tensor<256x10xf32>
    %11 = stablehlo.dot_general %8, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<128x10xf32>, tensor<256x10xf32>) -> tensor<128x256xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<128x256xf32>
    %13 = stablehlo.select %3, %11, %12 : tensor<128x256xi1>, tensor<128x256xf32>
    %14 = stablehlo.dot_general %13, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x256xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
    %15 = stablehlo.transpose %14, dims = [1, 0] : (tensor<256x128xf32>) -> tensor<128x256xf32>
    return %15, %10 : tensor<128x256xf32>, tensor<256x10xf32>
  }
  func.func private @relu(%arg0: tensor<128x256xf32>) -> tensor<128x256xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<128x256xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<128x256xf32>
    return %1 : tensor<128x256xf32>
  }
}
