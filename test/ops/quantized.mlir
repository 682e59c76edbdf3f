// Halves go to the even step, values beyond the range to its end.
func.func @main() {
  %x = stablehlo.constant dense<[1.25, -1.25, 1000.0, -1000.0]> : tensor<4xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:1>>
  %raw = stablehlo.bitcast_convert %q : (tensor<4x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<4xi8>
  check.expect_eq_const %raw, dense<[4, -2, 127, -128]> : tensor<4xi8>
  %y = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 0.5:1>>) -> tensor<4xf32>
  check.expect_eq_const %y, dense<[1.5, -1.5, 63.0, -64.5]> : tensor<4xf32>
  func.return
}
