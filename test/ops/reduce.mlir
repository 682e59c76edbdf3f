// The initial value counts once; an empty extent gives it alone.
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %init = stablehlo.constant dense<100.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[106.0, 115.0]> : tensor<2xf32>
  %1 = stablehlo.reduce(%x init: %init) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %1, dense<100.0> : tensor<f32>
  %e = stablehlo.constant dense<> : tensor<2x0xf32>
  %2 = stablehlo.reduce(%e init: %init) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<100.0> : tensor<2xf32>
  func.return
}

// -----

// Over nothing: initial values bit for bit, a subnormal, a NaN with a payload and -0, of one array or of several.
func.func @main() {
  %bits = stablehlo.constant dense<[1, 0x7FC00123, 0x80000000]> : tensor<3xi32>
  %values = stablehlo.bitcast_convert %bits : (tensor<3xi32>) -> tensor<3xf32>
  %first = stablehlo.slice %values [0:1] : (tensor<3xf32>) -> tensor<1xf32>
  %a = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
  %second = stablehlo.slice %values [1:2] : (tensor<3xf32>) -> tensor<1xf32>
  %b = stablehlo.reshape %second : (tensor<1xf32>) -> tensor<f32>
  %third = stablehlo.slice %values [2:3] : (tensor<3xf32>) -> tensor<1xf32>
  %c = stablehlo.reshape %third : (tensor<1xf32>) -> tensor<f32>
  %e = stablehlo.constant dense<> : tensor<2x0xf32>
  %0 = stablehlo.reduce(%e init: %a) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<1> : tensor<2xi32>
  %2 = stablehlo.reduce(%e init: %b) applies stablehlo.maximum across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = stablehlo.bitcast_convert %2 : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %3, dense<0x7FC00123> : tensor<2xi32>
  %4:2 = stablehlo.reduce(%e init: %a), (%e init: %c) across dimensions = [1] : (tensor<2x0xf32>, tensor<2x0xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<f32>, %s: tensor<f32>) {
    %x = stablehlo.add %p, %q : tensor<f32>
    %y = stablehlo.add %r, %s : tensor<f32>
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }
  %5 = stablehlo.bitcast_convert %4#0 : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %5, dense<1> : tensor<2xi32>
  %6 = stablehlo.bitcast_convert %4#1 : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %6, dense<0x80000000> : tensor<2xi32>
  func.return
}

// -----

// Which dimensions, not in which order: x[i, j, k] = i + 10 j + 100 k.
func.func @main() {
  %i = stablehlo.iota dim = 0 : tensor<5x2x40xf32>
  %j = stablehlo.iota dim = 1 : tensor<5x2x40xf32>
  %k = stablehlo.iota dim = 2 : tensor<5x2x40xf32>
  %ten = stablehlo.constant dense<10.0> : tensor<5x2x40xf32>
  %hundred = stablehlo.constant dense<100.0> : tensor<5x2x40xf32>
  %tens = stablehlo.multiply %j, %ten : tensor<5x2x40xf32>
  %hundreds = stablehlo.multiply %k, %hundred : tensor<5x2x40xf32>
  %low = stablehlo.add %i, %tens : tensor<5x2x40xf32>
  %x = stablehlo.add %low, %hundreds : tensor<5x2x40xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [2, 0] : (tensor<5x2x40xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[390400.0, 392400.0]> : tensor<2xf32>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<5x2x40xf32>, tensor<f32>) -> tensor<5xf32>
  check.expect_eq_const %1, dense<[3910.0, 3911.0, 3912.0, 3913.0, 3914.0]> : tensor<5xf32>
  func.return
}

// -----

// The largest value and its first index.
func.func @main() {
  %x = stablehlo.constant dense<[3.0, 7.0, 7.0, 1.0]> : tensor<4xf32>
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%x, %i, %low, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %ai: tensor<i32>, %b: tensor<f32>, %bi: tensor<i32>):
    %more = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.compare LT, %ai, %bi : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %same, %first : tensor<i1>
    %keep = stablehlo.or %more, %tie : tensor<i1>
    %v = stablehlo.select %keep, %a, %b : tensor<i1>, tensor<f32>
    %vi = stablehlo.select %keep, %ai, %bi : tensor<i1>, tensor<i32>
    stablehlo.return %v, %vi : tensor<f32>, tensor<i32>
  }) : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  check.expect_eq_const %r#0, dense<7.0> : tensor<f32>
  check.expect_eq_const %r#1, dense<1> : tensor<i32>
  func.return
}

// -----

// Padding cells take no part.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %init = stablehlo.constant dense<100> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 3>, padding = dense<1> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<5xi32>
  check.expect_eq_const %0, dense<[103, 106, 109, 112, 109]> : tensor<5xi32>
  func.return
}

// -----

// Running sums from both ends.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[1, 3, 6, 10]> : tensor<4xi32>
  %1 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 4>, padding = dense<[[0, 3]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %1, dense<[10, 9, 7, 4]> : tensor<4xi32>
  func.return
}

// -----

// GE keeps the first of equal maxima; each source element lands on its window's choice.
func.func @main() {
  %x = stablehlo.constant dense<[1, 5, 5, 2, 3, 9]> : tensor<6xi32>
  %s = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<6xi32>, tensor<2xi32>, tensor<i32>) -> tensor<6xi32>
  check.expect_eq_const %0, dense<[0, 10, 0, 0, 0, 20]> : tensor<6xi32>
  func.return
}

// -----

// What combines may be a mathematical function: log(exp(a) + exp(b)) and a maximum beside it.
func.func @main() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0], [3.0, 0.0, -1.0]]> : tensor<2x3xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%x init: %least) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %ea = stablehlo.exponential %a : tensor<f32>
      %eb = stablehlo.exponential %b : tensor<f32>
      %s = stablehlo.add %ea, %eb : tensor<f32>
      %l = stablehlo.log %s : tensor<f32>
      stablehlo.return %l : tensor<f32>
    }
  check.expect_almost_eq_const %r, dense<[2.407606, 3.0658839]> : tensor<2xf32>
  func.return
}

// -----

// Sums that begin with -0 and meet nothing but -0, or nothing at all, stay -0.
func.func @main() {
  %zero = stablehlo.constant dense<-0.0> : tensor<f32>
  %x = stablehlo.constant dense<[-0.0, 1.0]> : tensor<2xf32>
  %values = stablehlo.optimization_barrier %x : tensor<2xf32>
  %rows = stablehlo.broadcast_in_dim %values, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
  %0 = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3x2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[0x80000000, 0x40400000]> : tensor<2xi32>
  %s = stablehlo.constant dense<-0.0> : tensor<5xf32>
  %2 = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.bitcast_convert %2 : (tensor<f32>) -> tensor<i32>
  check.expect_eq_const %3, dense<0x80000000> : tensor<i32>
  %y = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %4 = "stablehlo.select_and_scatter"(%y, %values, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.bitcast_convert %4 : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %5, dense<[0x80000000, 0x80000000, 0x80000000, 0x3F800000]> : tensor<4xi32>
  func.return
}
