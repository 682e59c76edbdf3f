// fuzz: data=933001907 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1x1x!quant.uniform<i8:f32, 1.000000e+00>>, %arg1: tensor<1x1x!quant.uniform<i8:f32, 1.000000e+00:17>>) -> tensor<1x1x!quant.uniform<u32:f32, 1.000000e+00:15>> {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<1x1x!quant.uniform<i8:f32, 1.000000e+00:17>>, tensor<1x1x!quant.uniform<i8:f32, 1.000000e+00>>) -> tensor<1x1x!quant.uniform<u32:f32, 1.000000e+00:15>>
    return %0 : tensor<1x1x!quant.uniform<u32:f32, 1.000000e+00:15>>
  }
}
