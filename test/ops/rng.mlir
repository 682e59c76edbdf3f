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

// -----

// Integers of [a, b): all of them come, and no other.
func.func @main() {
  %n = stablehlo.constant dense<[4000]> : tensor<1xi64>
  %least = stablehlo.constant dense<2147483647> : tensor<i32>
  %most = stablehlo.constant dense<-2147483648> : tensor<i32>
  %a = stablehlo.constant dense<-3> : tensor<i32>
  %b = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4000xi32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.minimum across dimensions = [0] : (tensor<4000xi32>, tensor<i32>) -> tensor<i32>
  %2 = stablehlo.reduce(%0 init: %most) applies stablehlo.maximum across dimensions = [0] : (tensor<4000xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %1, dense<-3> : tensor<i32>
  check.expect_eq_const %2, dense<1> : tensor<i32>
  %c = stablehlo.constant dense<250> : tensor<ui8>
  %d = stablehlo.constant dense<255> : tensor<ui8>
  %3 = stablehlo.rng %c, %d, %n, distribution = UNIFORM : (tensor<ui8>, tensor<ui8>, tensor<1xi64>) -> tensor<4000xui8>
  %4 = stablehlo.convert %3 : (tensor<4000xui8>) -> tensor<4000xi32>
  %5 = stablehlo.reduce(%4 init: %least) applies stablehlo.minimum across dimensions = [0] : (tensor<4000xi32>, tensor<i32>) -> tensor<i32>
  %6 = stablehlo.reduce(%4 init: %most) applies stablehlo.maximum across dimensions = [0] : (tensor<4000xi32>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %5, dense<250> : tensor<i32>
  check.expect_eq_const %6, dense<254> : tensor<i32>
  // More digits than a double has.
  %e = stablehlo.constant dense<9223372036854775804> : tensor<i64>
  %f = stablehlo.constant dense<9223372036854775807> : tensor<i64>
  %7 = stablehlo.rng %e, %f, %n, distribution = UNIFORM : (tensor<i64>, tensor<i64>, tensor<1xi64>) -> tensor<4000xi64>
  %8 = stablehlo.reduce(%7 init: %f) applies stablehlo.minimum across dimensions = [0] : (tensor<4000xi64>, tensor<i64>) -> tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %9 = stablehlo.reduce(%7 init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4000xi64>, tensor<i64>) -> tensor<i64>
  check.expect_eq_const %8, dense<9223372036854775804> : tensor<i64>
  check.expect_eq_const %9, dense<9223372036854775806> : tensor<i64>
  func.return
}

// -----

// The upper end is outside, whatever the rounding; mean and variance of a normal distribution.
func.func @main() {
  %n = stablehlo.constant dense<[4000]> : tensor<1xi64>
  %a = stablehlo.constant dense<2.0> : tensor<bf16>
  %b = stablehlo.constant dense<2.03125> : tensor<bf16>
  %0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<bf16>, tensor<bf16>, tensor<1xi64>) -> tensor<4000xbf16>
  %1 = stablehlo.reduce(%0 init: %b) applies stablehlo.minimum across dimensions = [0] : (tensor<4000xbf16>, tensor<bf16>) -> tensor<bf16>
  %2 = stablehlo.reduce(%0 init: %a) applies stablehlo.maximum across dimensions = [0] : (tensor<4000xbf16>, tensor<bf16>) -> tensor<bf16>
  check.expect_eq_const %1, dense<2.0> : tensor<bf16>
  check.expect_eq_const %2, dense<2.01562500> : tensor<bf16>
  %m = stablehlo.constant dense<5.0> : tensor<f32>
  %s = stablehlo.constant dense<3.0> : tensor<f32>
  %3 = stablehlo.rng %m, %s, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4000xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4000xf32>, tensor<f32>) -> tensor<f32>
  %5 = stablehlo.multiply %3, %3 : tensor<4000xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4000xf32>, tensor<f32>) -> tensor<f32>
  // Sums within 8 standard deviations of their means, 20000 and 4000 * (25 + 9).
  %mean = stablehlo.constant dense<20000.0> : tensor<f32>
  %square = stablehlo.constant dense<136000.0> : tensor<f32>
  check.expect_almost_eq %4, %mean, tolerance = 1520.0 : tensor<f32>
  check.expect_almost_eq %6, %square, tolerance = 16500.0 : tensor<f32>
  func.return
}
