// A running sum that is too long to be written out, from a number that is not known beforehand.
func.func @main() {
  %x = stablehlo.iota dim = 0 : tensor<5000xi32>
  %c = stablehlo.constant dense<1000> : tensor<i32>
  %x0, %i = stablehlo.optimization_barrier %x, %c : tensor<5000xi32>, tensor<i32>
  %s = "stablehlo.reduce_window"(%x0, %i) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %t = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) {window_dimensions = array<i64: 5000>, padding = dense<[[4999, 0]]> : tensor<1x2xi64>} : (tensor<5000xi32>, tensor<i32>) -> tensor<5000xi32>
  // The first sums and their differences: i (i + 1) / 2 more than the start.
  %next = stablehlo.slice %s [1:5000] : (tensor<5000xi32>) -> tensor<4999xi32>
  %this = stablehlo.slice %s [0:4999] : (tensor<5000xi32>) -> tensor<4999xi32>
  %step = stablehlo.subtract %next, %this : tensor<4999xi32>
  %one = stablehlo.slice %x [1:5000] : (tensor<5000xi32>) -> tensor<4999xi32>
  check.expect_eq %step, %one : tensor<4999xi32>
  %first = stablehlo.slice %s [0:1] : (tensor<5000xi32>) -> tensor<1xi32>
  check.expect_eq_const %first, dense<[1000]> : tensor<1xi32>
  func.return
}

// -----

// The same of complex numbers, from the high end.
func.func @main() {
  %r = stablehlo.constant dense<(1.0, 2.0)> : tensor<5000xcomplex<f32>>
  %c = stablehlo.constant dense<(3.0, 4.0)> : tensor<complex<f32>>
  %x0, %i = stablehlo.optimization_barrier %r, %c : tensor<5000xcomplex<f32>>, tensor<complex<f32>>
  %s = "stablehlo.reduce_window"(%x0, %i) ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %t = stablehlo.add %a, %b : tensor<complex<f32>>
    stablehlo.return %t : tensor<complex<f32>>
  }) {window_dimensions = array<i64: 5000>, padding = dense<[[0, 4999]]> : tensor<1x2xi64>} : (tensor<5000xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5000xcomplex<f32>>
  %ends = stablehlo.slice %s [0:5000:4999] : (tensor<5000xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %ends, dense<[(5003.0, 10004.0), (4.0, 6.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

// A window that is all of its input, to another type: a product that no driver has.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf64>
  %w = stablehlo.constant dense<[[[1.0], [10.0]], [[100.0], [1000.0]]]> : tensor<2x2x1xf64>
  %x0, %w0 = stablehlo.optimization_barrier %x, %w : tensor<1x2x2xf64>, tensor<2x2x1xf64>
  %r = stablehlo.convolution(%x0, %w0) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2xf64>, tensor<2x2x1xf64>) -> tensor<1x1x1xf32>
  check.expect_eq_const %r, dense<4321.0> : tensor<1x1x1xf32>
  func.return
}

// -----

// The greatest of numbers that kernels do not hold, and where it is.
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 4.0, 0.5, 16.0, 2.0]> : tensor<5xf32>
  %a0 = stablehlo.optimization_barrier %a : tensor<5xf32>
  %v = stablehlo.convert %a0 : (tensor<5xf32>) -> tensor<5xf8E8M0FNU>
  %i = stablehlo.iota dim = 0 : tensor<5xi32>
  %lo = stablehlo.constant dense<5.877471754111438e-39> : tensor<f8E8M0FNU>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%v init: %lo), (%i init: %z) across dimensions = [0] : (tensor<5xf8E8M0FNU>, tensor<5xi32>, tensor<f8E8M0FNU>, tensor<i32>) -> (tensor<f8E8M0FNU>, tensor<i32>)
    reducer(%x: tensor<f8E8M0FNU>, %y: tensor<f8E8M0FNU>) (%p: tensor<i32>, %q: tensor<i32>) {
      %gt = stablehlo.compare GT, %x, %y : (tensor<f8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<i1>
      %ne = stablehlo.compare NE, %x, %x : (tensor<f8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<i1>
      %or = stablehlo.or %gt, %ne : tensor<i1>
      %eq = stablehlo.compare EQ, %x, %y : (tensor<f8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<i1>
      %lt = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %an = stablehlo.and %eq, %lt : tensor<i1>
      %o2 = stablehlo.or %or, %an : tensor<i1>
      %s = stablehlo.select %or, %x, %y : tensor<i1>, tensor<f8E8M0FNU>
      %k = stablehlo.select %o2, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %s, %k : tensor<f8E8M0FNU>, tensor<i32>
    }
  %f = stablehlo.convert %r#0 : (tensor<f8E8M0FNU>) -> tensor<f32>
  check.expect_eq_const %f, dense<16.0> : tensor<f32>
  check.expect_eq_const %r#1, dense<3> : tensor<i32>
  func.return
}

// -----

// Matrices without elements.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<2x0x0xf32>
  %r:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%x) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x0x0xf32>) -> (tensor<2x0x0xf32>, tensor<2x0xi32>, tensor<2xi32>)
  check.expect_eq_const %r#2, dense<0> : tensor<2xi32>
  func.return
}
