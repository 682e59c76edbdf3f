module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1048576xf32>) -> (tensor<1048576xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.sine %arg0 : tensor<1048576xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1048576xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<1048576xf32>
    %3 = stablehlo.exponential %2 : tensor<1048576xf32>
    %4 = stablehlo.tanh %arg0 : tensor<1048576xf32>
    %5 = stablehlo.add %3, %4 : tensor<1048576xf32>
    return %5 : tensor<1048576xf32>
  }
}
