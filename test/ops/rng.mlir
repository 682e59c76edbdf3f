// The streams that XLA's CPU backend gives.
func.func @main() {
  %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %t:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  check.expect_eq_const %t#0, dense<[1, 4]> : tensor<2xui64>
  check.expect_eq_const %t#1, dense<[43444564, 2150618427, 3979645651, 3745730563]> : tensor<4xui32>
  %p:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  check.expect_eq_const %p#0, dense<[1, 3]> : tensor<2xui64>
  check.expect_eq_const %p#1, dense<[2100602697, 2847456232, 2074354647, 800269529]> : tensor<4xui32>
  // Of less than a byte: the low bits, which conversions read as numbers of the type.
  %n:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xi4>)
  %w = stablehlo.convert %n#1 : (tensor<4xi4>) -> tensor<4xi32>
  check.expect_eq_const %w, dense<[4, -5, 3, 3]> : tensor<4xi32>
  func.return
}
