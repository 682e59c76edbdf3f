module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<65536xf32>) -> (tensor<65536xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<65536xf32>
    cond {
      %c_1 = stablehlo.constant dense<20> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @closed_call(%iterArg_0) : (tensor<65536xf32>) -> tensor<65536xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<65536xf32>
    }
    return %0#1 : tensor<65536xf32>
  }
  func.func private @closed_call(%arg0: tensor<65536xf32>) -> tensor<65536xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<65536xf32>
    %cst = stablehlo.constant dense<1.010000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<65536xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<65536xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<65536xf32>
    %4 = stablehlo.add %2, %3 : tensor<65536xf32>
    return %4 : tensor<65536xf32>
  }
}
