// Arithmetic at its edges. Values by hand.
func.func @main() {
  %a = stablehlo.constant dense<[7, -7, -2147483648, 5]> : tensor<4xi32>
  %b = stablehlo.constant dense<[2, 2, -1, 0]> : tensor<4xi32>
  %div = stablehlo.divide %a, %b : tensor<4xi32>
  check.expect_eq_const %div, dense<[3, -3, -2147483648, -1]> : tensor<4xi32>
  %rem = stablehlo.remainder %a, %b : tensor<4xi32>
  check.expect_eq_const %rem, dense<[1, -1, 0, 5]> : tensor<4xi32>
  %shift = stablehlo.constant dense<[1, 31, 32, -1]> : tensor<4xi32>
  %left = stablehlo.shift_left %a, %shift : tensor<4xi32>
  check.expect_eq_const %left, dense<[14, -2147483648, 0, 0]> : tensor<4xi32>
  %arith = stablehlo.shift_right_arithmetic %a, %shift : tensor<4xi32>
  check.expect_eq_const %arith, dense<[3, -1, -1, 0]> : tensor<4xi32>
  %logic = stablehlo.shift_right_logical %a, %shift : tensor<4xi32>
  check.expect_eq_const %logic, dense<[3, 1, 0, 0]> : tensor<4xi32>
  %abs = stablehlo.abs %a : tensor<4xi32>
  check.expect_eq_const %abs, dense<[7, 7, -2147483648, 5]> : tensor<4xi32>
  %clz = stablehlo.count_leading_zeros %b : tensor<4xi32>
  check.expect_eq_const %clz, dense<[30, 30, 0, 32]> : tensor<4xi32>
  %pop = stablehlo.popcnt %b : tensor<4xi32>
  check.expect_eq_const %pop, dense<[1, 1, 32, 0]> : tensor<4xi32>
  func.return
}

// -----

// Nothing but the sign of zero tells these apart: their reciprocals do.
func.func @main() {
  %x = stablehlo.constant dense<[0.0, -0.0, 0.0, -0.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<[-0.0, 0.0, 0.0, -0.0]> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %max = stablehlo.maximum %x, %y : tensor<4xf32>
  %0 = stablehlo.divide %one, %max : tensor<4xf32>
  check.expect_eq_const %0, dense<[0x7F800000, 0x7F800000, 0x7F800000, 0xFF800000]> : tensor<4xf32>
  %min = stablehlo.minimum %x, %y : tensor<4xf32>
  %1 = stablehlo.divide %one, %min : tensor<4xf32>
  check.expect_eq_const %1, dense<[0xFF800000, 0xFF800000, 0x7F800000, 0xFF800000]> : tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[2.5, -2.5, 0.5, -0.5, 1.5, 0x4B000001]> : tensor<6xf32>
  %even = stablehlo.round_nearest_even %x : tensor<6xf32>
  check.expect_eq_const %even, dense<[2.0, -2.0, 0.0, -0.0, 2.0, 0x4B000001]> : tensor<6xf32>
  %away = stablehlo.round_nearest_afz %x : tensor<6xf32>
  check.expect_eq_const %away, dense<[3.0, -3.0, 1.0, -1.0, 2.0, 0x4B000001]> : tensor<6xf32>
  %floor = stablehlo.floor %x : tensor<6xf32>
  check.expect_eq_const %floor, dense<[2.0, -3.0, 0.0, -1.0, 1.0, 0x4B000001]> : tensor<6xf32>
  %ceil = stablehlo.ceil %x : tensor<6xf32>
  check.expect_eq_const %ceil, dense<[3.0, -2.0, 1.0, 0.0, 2.0, 0x4B000001]> : tensor<6xf32>
  %sign = stablehlo.sign %x : tensor<6xf32>
  check.expect_eq_const %sign, dense<[1.0, -1.0, 1.0, -1.0, 1.0, 1.0]> : tensor<6xf32>
  func.return
}

// -----

// NaN on any side wins; clamp with crossed bounds gives the upper one.
func.func @main() {
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<2xf32>
  %one = stablehlo.constant dense<[1.0, 0x7F800000]> : tensor<2xf32>
  %0 = stablehlo.maximum %one, %nan : tensor<2xf32>
  check.expect_close %0, %nan, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  %1 = stablehlo.minimum %nan, %one : tensor<2xf32>
  check.expect_close %1, %nan, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  %low = stablehlo.constant dense<5.0> : tensor<f32>
  %high = stablehlo.constant dense<3.0> : tensor<f32>
  %2 = stablehlo.clamp %low, %one, %high : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<3.0> : tensor<2xf32>
  func.return
}

// -----

// Every step rounds to the narrow type.
func.func @main() {
  %x = stablehlo.constant dense<256.0> : tensor<bf16>
  %one = stablehlo.constant dense<1.0> : tensor<bf16>
  %0 = stablehlo.add %x, %one : tensor<bf16>
  %1 = stablehlo.add %0, %one : tensor<bf16>
  %2 = stablehlo.add %1, %one : tensor<bf16>
  check.expect_eq_const %2, dense<256.0> : tensor<bf16>
  func.return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 0x7F800000, 0xFF800000]> : tensor<5xf32>
  %exp = stablehlo.exponential %x : tensor<5xf32>
  %exp_wanted = stablehlo.constant dense<[1.0, 2.71828183, 0.367879441, 0x7F800000, 0.0]> : tensor<5xf32>
  check.expect_close %exp, %exp_wanted, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  %tanh = stablehlo.tanh %x : tensor<5xf32>
  %tanh_wanted = stablehlo.constant dense<[0.0, 0.761594156, -0.761594156, 1.0, -1.0]> : tensor<5xf32>
  check.expect_close %tanh, %tanh_wanted, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  %logistic = stablehlo.logistic %x : tensor<5xf32>
  %logistic_wanted = stablehlo.constant dense<[0.5, 0.731058579, 0.268941421, 1.0, 0.0]> : tensor<5xf32>
  check.expect_close %logistic, %logistic_wanted, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  %log1p = stablehlo.log_plus_one %x : tensor<5xf32>
  %log1p_wanted = stablehlo.constant dense<[0.0, 0.693147181, 0xFF800000, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
  check.expect_close %log1p, %log1p_wanted, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

// Empty arrays and booleans.
func.func @main() {
  %empty = stablehlo.constant dense<> : tensor<0x3xf32>
  %0 = stablehlo.add %empty, %empty : tensor<0x3xf32>
  check.expect_eq_const %0, dense<> : tensor<0x3xf32>
  %t = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %u = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %or = stablehlo.add %t, %u : tensor<3xi1>
  check.expect_eq_const %or, dense<[true, true, false]> : tensor<3xi1>
  %and = stablehlo.multiply %t, %u : tensor<3xi1>
  check.expect_eq_const %and, dense<[true, false, false]> : tensor<3xi1>
  %xor = stablehlo.xor %t, %u : tensor<3xi1>
  check.expect_eq_const %xor, dense<[false, true, false]> : tensor<3xi1>
  %not = stablehlo.not %u : tensor<3xi1>
  check.expect_eq_const %not, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// -----

// What is selected moves as it is, also where it was compared: tiny numbers count as zeros in the comparison alone.
func.func @main() {
  %bits = stablehlo.constant dense<[3, -2147483645, 1, 1065353216]> : tensor<4xi32>
  %other = stablehlo.constant dense<[1065353216, 1065353216, -1082130432, 3]> : tensor<4xi32>
  %x0 = stablehlo.bitcast_convert %bits : (tensor<4xi32>) -> tensor<4xf32>
  %y0 = stablehlo.bitcast_convert %other : (tensor<4xi32>) -> tensor<4xf32>
  %x, %y = stablehlo.optimization_barrier %x0, %y0 : tensor<4xf32>, tensor<4xf32>
  %less = stablehlo.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %low = stablehlo.select %less, %x, %y : tensor<4xi1>, tensor<4xf32>
  %high = stablehlo.select %less, %y, %x : tensor<4xi1>, tensor<4xf32>
  %low_bits = stablehlo.bitcast_convert %low : (tensor<4xf32>) -> tensor<4xi32>
  %high_bits = stablehlo.bitcast_convert %high : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %low_bits, dense<[3, -2147483645, -1082130432, 3]> : tensor<4xi32>
  check.expect_eq_const %high_bits, dense<[1065353216, 1065353216, 1, 1065353216]> : tensor<4xi32>
  func.return
}

// -----

// Of unsigned numbers, too, an arithmetic shift repeats the highest bit; what follows must not take it for a small number.
func.func @main() {
  %c = stablehlo.constant dense<[0, 127, 128, 255]> : tensor<4xui8>
  %x = stablehlo.optimization_barrier %c : tensor<4xui8>
  %seven = stablehlo.constant dense<7> : tensor<4xui8>
  %two = stablehlo.constant dense<2> : tensor<4xui8>
  %s = stablehlo.shift_right_arithmetic %x, %seven : tensor<4xui8>
  %d = stablehlo.divide %s, %two : tensor<4xui8>
  check.expect_eq_const %d, dense<[0, 0, 127, 127]> : tensor<4xui8>
  // Where the highest bit is known to be zero it is a logical one.
  %hundred = stablehlo.constant dense<100> : tensor<4xui8>
  %low = stablehlo.minimum %x, %hundred : tensor<4xui8>
  %t = stablehlo.shift_right_arithmetic %low, %two : tensor<4xui8>
  check.expect_eq_const %t, dense<[0, 25, 25, 25]> : tensor<4xui8>
  func.return
}
