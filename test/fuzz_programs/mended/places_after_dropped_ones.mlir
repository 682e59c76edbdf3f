// fuzz: data=1 specials=0 tolerance=0.001
module {
  func.func @main(%arg0: tensor<1xf32>) -> tensor<i32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<32x1xf32>
    %0:5 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg0, %iterArg_3 = %arg0, %iterArg_4 = %arg0, %iterArg_5 = %cst) : tensor<i32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<32x1xf32>
    cond {
      %1 = stablehlo.compare  LT, %iterArg, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.reshape %iterArg_3 : (tensor<1xf32>) -> tensor<f32>
      %2 = stablehlo.tanh %1 : tensor<f32>
      %3 = stablehlo.sine %2 : tensor<f32>
      %4 = stablehlo.cosine %3 : tensor<f32>
      %5 = stablehlo.tanh %4 : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<1xf32>
      %7 = stablehlo.exponential %iterArg_4 : tensor<1xf32>
      %8 = stablehlo.cosine %7 : tensor<1xf32>
      %9 = stablehlo.tanh %8 : tensor<1xf32>
      %10 = stablehlo.reshape %9 : (tensor<1xf32>) -> tensor<1x1xf32>
      %11 = stablehlo.dynamic_update_slice %iterArg_5, %10, %iterArg, %iterArg : (tensor<32x1xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<32x1xf32>
      %12 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %12, %iterArg_3, %iterArg_2, %6, %11 : tensor<i32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<32x1xf32>
    }
    return %0#0 : tensor<i32>
  }
}

