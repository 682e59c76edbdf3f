// fuzz: data=1 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
    %0 = stablehlo.uniform_quantize %arg0 : (tensor<3x2xf32>) -> tensor<3x2x!quant.uniform<i8:f32:0, {1.0:3, 4.0:-2, 2.0:7}>>
    %1 = stablehlo.uniform_quantize %0 : (tensor<3x2x!quant.uniform<i8:f32:0, {1.0:3, 4.0:-2, 2.0:7}>>) -> tensor<3x2x!quant.uniform<u8:f32:1, {4.0:9, 1.0:20}>>
    %2 = stablehlo.uniform_dequantize %1 : (tensor<3x2x!quant.uniform<u8:f32:1, {4.0:9, 1.0:20}>>) -> tensor<3x2xf32>
    %3 = stablehlo.uniform_quantize %1 : (tensor<3x2x!quant.uniform<u8:f32:1, {4.0:9, 1.0:20}>>) -> tensor<3x2x!quant.uniform<i8:f32:0, {1.0:3, 4.0:-2, 2.0:7}>>
    %4 = stablehlo.uniform_dequantize %3 : (tensor<3x2x!quant.uniform<i8:f32:0, {1.0:3, 4.0:-2, 2.0:7}>>) -> tensor<3x2xf32>
    return %2, %4 : tensor<3x2xf32>, tensor<3x2xf32>
  }
}
