// fuzz: data=1 specials=0 tolerance=0.001
module {
  func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0:3 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg0, %iterArg_3 = %arg0) : tensor<i32>, tensor<f32>, tensor<f32>
    cond {
      %1 = stablehlo.compare  LT, %iterArg, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.convert %iterArg : (tensor<i32>) -> tensor<f32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<33xf32>
      %3 = stablehlo.sine %2 : tensor<33xf32>
      %4 = stablehlo.tanh %3 : tensor<33xf32>
      %5 = stablehlo.broadcast_in_dim %iterArg_2, dims = [] : (tensor<f32>) -> tensor<33xf32>
      %6 = stablehlo.maximum %5, %4 : tensor<33xf32>
      %7 = stablehlo.reduce(%6 init: %cst) across dimensions = [0] : (tensor<33xf32>, tensor<f32>) -> tensor<f32>
       reducer(%arg1: tensor<f32>, %arg2: tensor<f32>)  {
        stablehlo.return %arg1 : tensor<f32>
      }
      %8 = stablehlo.broadcast_in_dim %iterArg_3, dims = [] : (tensor<f32>) -> tensor<33xf32>
      %9 = stablehlo.minimum %8, %2 : tensor<33xf32>
      %10 = stablehlo.reduce(%9 init: %cst) across dimensions = [0] : (tensor<33xf32>, tensor<f32>) -> tensor<f32>
       reducer(%arg1: tensor<f32>, %arg2: tensor<f32>)  {
        stablehlo.return %arg1 : tensor<f32>
      }
      %11 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %11, %7, %10 : tensor<i32>, tensor<f32>, tensor<f32>
    }
    return %0#2 : tensor<f32>
  }
}

