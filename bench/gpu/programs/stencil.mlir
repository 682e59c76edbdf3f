module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1026x1026xf32>) -> (tensor<1024x1024xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [1:1025, 1:1025] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<1024x1024xf32>
    %3 = stablehlo.slice %arg0 [0:1024, 1:1025] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
    %4 = stablehlo.subtract %2, %3 : tensor<1024x1024xf32>
    %5 = stablehlo.slice %arg0 [2:1026, 1:1025] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
    %6 = stablehlo.subtract %4, %5 : tensor<1024x1024xf32>
    %7 = stablehlo.slice %arg0 [1:1025, 0:1024] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
    %8 = stablehlo.subtract %6, %7 : tensor<1024x1024xf32>
    %9 = stablehlo.slice %arg0 [1:1025, 2:1026] : (tensor<1026x1026xf32>) -> tensor<1024x1024xf32>
    %10 = stablehlo.subtract %8, %9 : tensor<1024x1024xf32>
    return %10 : tensor<1024x1024xf32>
  }
}
