// fuzz: data=994025006 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %cst = stablehlo.constant dense<-6.000000e+00> : tensor<4x4xf32>
    %0 = stablehlo.uniform_quantize %cst : (tensor<4x4xf32>) -> tensor<4x4x!quant.uniform<i8:f32, 4.000000e+00>>
    %1 = stablehlo.uniform_quantize %arg0 : (tensor<4x4xf32>) -> tensor<4x4x!quant.uniform<i8:f32, 4.000000e+00:5>>
    %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<4x4x!quant.uniform<i8:f32, 4.000000e+00:5>>, tensor<4x4x!quant.uniform<i8:f32, 4.000000e+00>>) -> tensor<4x4x!quant.uniform<i32:f32, 1.000000e+00:10>>
    %3 = stablehlo.uniform_dequantize %2 : (tensor<4x4x!quant.uniform<i32:f32, 1.000000e+00:10>>) -> tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
}

