// fuzz: data=42011196 specials=0 tolerance=0
module {
  func.func @main() -> tensor<43x4xui32> {
    %c = stablehlo.constant dense<0> : tensor<2xui64>
    %output_state, %output = stablehlo.rng_bit_generator %c, algorithm =  THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x4xui32>)
    %c_0 = stablehlo.constant dense<0> : tensor<1x4xui32>
    %c_1 = stablehlo.constant dense<[[6, 2, 6, 1], [6, 6, 3, 2]]> : tensor<2x4xui32>
    %0 = stablehlo.concatenate %output, %output, %c_1, %output, %output, %output, %output, %c_0, %output, %output, %output, %output, dim = 0 : (tensor<4x4xui32>, tensor<4x4xui32>, tensor<2x4xui32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<1x4xui32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<4x4xui32>, tensor<4x4xui32>) -> tensor<43x4xui32>
    return %0 : tensor<43x4xui32>
  }
}

