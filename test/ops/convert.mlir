// Conversions truncate, saturate, wrap, and round to nearest even.
func.func @main() {
  %x = stablehlo.constant dense<[1.9, -1.9, 1.0e10, -1.0e10, 0x7FC00000, 0x7F800000]> : tensor<6xf32>
  %i = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi32>
  check.expect_eq_const %i, dense<[1, -1, 2147483647, -2147483648, 0, 2147483647]> : tensor<6xi32>
  %u = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xui8>
  check.expect_eq_const %u, dense<[1, 0, 255, 0, 0, 255]> : tensor<6xui8>
  %p = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi1>
  check.expect_eq_const %p, dense<true> : tensor<6xi1>
  %n = stablehlo.constant dense<[300, -129, 65519, 65520]> : tensor<4xi32>
  %b = stablehlo.convert %n : (tensor<4xi32>) -> tensor<4xi8>
  check.expect_eq_const %b, dense<[44, 127, -17, -16]> : tensor<4xi8>
  %h = stablehlo.convert %n : (tensor<4xi32>) -> tensor<4xf16>
  check.expect_eq_const %h, dense<[300.0, -129.0, 65504.0, 0x7C00]> : tensor<4xf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[286335522, -1]> : tensor<2xi32>
  %parts = stablehlo.bitcast_convert %x : (tensor<2xi32>) -> tensor<2x2xui16>
  check.expect_eq_const %parts, dense<[[8738, 4369], [65535, 65535]]> : tensor<2x2xui16>
  %back = stablehlo.bitcast_convert %parts : (tensor<2x2xui16>) -> tensor<2xi32>
  check.expect_eq %back, %x : tensor<2xi32>
  // Less than a byte: integers are sign-extended in it, floats are not.
  %tiny = stablehlo.constant dense<[-1.0, 0.5, -6.0]> : tensor<3xf4E2M1FN>
  %tiny_bits = stablehlo.bitcast_convert %tiny : (tensor<3xf4E2M1FN>) -> tensor<3xi4>
  %tiny_wide = stablehlo.convert %tiny_bits : (tensor<3xi4>) -> tensor<3xi32>
  check.expect_eq_const %tiny_wide, dense<[-6, 1, -1]> : tensor<3xi32>
  %tiny_back = stablehlo.bitcast_convert %tiny_bits : (tensor<3xi4>) -> tensor<3xf4E2M1FN>
  check.expect_eq %tiny_back, %tiny : tensor<3xf4E2M1FN>
  %f = stablehlo.constant dense<1.0> : tensor<f32>
  %bits = stablehlo.bitcast_convert %f : (tensor<f32>) -> tensor<ui32>
  check.expect_eq_const %bits, dense<1065353216> : tensor<ui32>
  %r = stablehlo.constant dense<[65520.0, 65519.0, 6.0e-5, 1.0]> : tensor<4xf32>
  %half = stablehlo.reduce_precision %r, format = e5m10 : tensor<4xf32>
  check.expect_eq_const %half, dense<[0x7F800000, 65504.0, 0.0, 1.0]> : tensor<4xf32>
  func.return
}

// -----

// Powers of two alone: no zero, halves go up, doubles keep what floats have with fewer digits.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, 5.877471754111438e-39, 1.1e-38, 3.0, 6.0, 1.0e-300]> : tensor<6xf64>
  %p = stablehlo.convert %x : (tensor<6xf64>) -> tensor<6xf8E8M0FNU>
  %bits = stablehlo.bitcast_convert %p : (tensor<6xf8E8M0FNU>) -> tensor<6xui8>
  check.expect_eq_const %bits, dense<[255, 0, 1, 129, 130, 255]> : tensor<6xui8>
  %y = stablehlo.constant dense<[0.0, -1.0, 3.0, 6.0]> : tensor<4xf32>
  %q = stablehlo.convert %y : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  %narrow = stablehlo.bitcast_convert %q : (tensor<4xf8E8M0FNU>) -> tensor<4xui8>
  check.expect_eq_const %narrow, dense<[255, 255, 129, 130]> : tensor<4xui8>
  %codes = stablehlo.constant dense<[0, 1, 127, 254]> : tensor<4xui8>
  %r = stablehlo.bitcast_convert %codes : (tensor<4xui8>) -> tensor<4xf8E8M0FNU>
  %wide = stablehlo.convert %r : (tensor<4xf8E8M0FNU>) -> tensor<4xf64>
  check.expect_eq_const %wide, dense<[5.877471754111438e-39, 1.1754943508222875e-38, 1.0, 1.7014118346046923e+38]> : tensor<4xf64>
  func.return
}
