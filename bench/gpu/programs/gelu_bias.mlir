module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2048x1024xf32>, %arg1: tensor<1024xf32>) -> (tensor<2048x1024xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x1024xf32>) -> tensor<2048x1024xf32>
    %2 = stablehlo.add %arg0, %1 : tensor<2048x1024xf32>
    %3 = stablehlo.multiply %2, %2 : tensor<2048x1024xf32>
    %4 = stablehlo.multiply %3, %2 : tensor<2048x1024xf32>
    %cst = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2048x1024xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<2048x1024xf32>
    %7 = stablehlo.add %2, %6 : tensor<2048x1024xf32>
    %cst_0 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2048x1024xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<2048x1024xf32>
    %10 = stablehlo.tanh %9 : tensor<2048x1024xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2048x1024xf32>
    %12 = stablehlo.add %11, %10 : tensor<2048x1024xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2048x1024xf32>
    %14 = stablehlo.multiply %13, %12 : tensor<2048x1024xf32>
    %15 = stablehlo.multiply %2, %14 : tensor<2048x1024xf32>
    return %15 : tensor<2048x1024xf32>
  }
}
