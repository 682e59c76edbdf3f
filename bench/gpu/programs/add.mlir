func.func @main(%a: tensor<16777216xf32>, %b: tensor<16777216xf32>) -> tensor<16777216xf32> {
  %0 = stablehlo.add %a, %b : tensor<16777216xf32>
  return %0 : tensor<16777216xf32>
}
