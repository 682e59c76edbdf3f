func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[19.0, 22.0], [43.0, 50.0]]> : tensor<2x2xf32>
  %1 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<[17.0, 53.0]> : tensor<2xf32>
  %e = stablehlo.constant dense<> : tensor<2x0xf32>
  %2 = stablehlo.dot_general %e, %e, contracting_dims = [1] x [1] : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %2, dense<0.0> : tensor<2x2xf32>
  func.return
}

// -----

// Small integers are summed in wide ones; narrow floats are rounded once.
func.func @main() {
  %a = stablehlo.constant dense<100> : tensor<3xi8>
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<3xi8>, tensor<3xi8>) -> tensor<i32>
  check.expect_eq_const %0, dense<30000> : tensor<i32>
  %1 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<3xi8>, tensor<3xi8>) -> tensor<i8>
  check.expect_eq_const %1, dense<48> : tensor<i8>
  %x = stablehlo.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %one = stablehlo.constant dense<1.0> : tensor<3xbf16>
  %2 = stablehlo.dot_general %x, %one, contracting_dims = [0] x [0] : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<bf16>
  check.expect_eq_const %2, dense<258.0> : tensor<bf16>
  func.return
}

// -----

// Correlation: no flip. Padded by one on both sides, then dilated instead.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %w = stablehlo.constant dense<[[[1.0]], [[10.0]], [[100.0]]]> : tensor<3x1x1xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]}
    {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<3x1x1xf32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %0, dense<[[[210.0], [321.0], [32.0]]]> : tensor<1x3x1xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {lhs_dilate = [2]}
    {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x3x1xf32>, tensor<3x1x1xf32>) -> tensor<1x3x1xf32>
  check.expect_eq_const %1, dense<[[[201.0], [20.0], [302.0]]]> : tensor<1x3x1xf32>
  func.return
}

// -----

// Two results per group.
func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]> : tensor<1x3x2xf32>
  %w = stablehlo.constant dense<[[[1.0, 10.0, 100.0, 1000.0]], [[2.0, 20.0, 200.0, 2000.0]]]> : tensor<2x1x4xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}
    {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<1x3x2xf32>, tensor<2x1x4xf32>) -> tensor<1x2x4xf32>
  check.expect_eq_const %0, dense<[[[7.0, 70.0, 1000.0, 10000.0], [13.0, 130.0, 1600.0, 16000.0]]]> : tensor<1x2x4xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, f, 0], window = {}
    {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<1x3x2xf32>, tensor<2x1x4xf32>) -> tensor<1x4x2xf32>
  check.expect_eq_const %1, dense<[[[7.0, 13.0], [70.0, 130.0], [1000.0, 1600.0], [10000.0, 16000.0]]]> : tensor<1x4x2xf32>
  func.return
}

// -----

// Batches and what is summed over, by letters.
func.func @main() {
  %a = stablehlo.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %b = stablehlo.constant dense<[[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]]> : tensor<2x3xf32>
  %0 = stablehlo.einsum %a, %b, config = "...c,cd->...d" : (tensor<2x1x2xf32>, tensor<2x3xf32>) -> tensor<2x1x3xf32>
  check.expect_eq_const %0, dense<[[[5.0, 50.0, 500.0]], [[11.0, 110.0, 1100.0]]]> : tensor<2x1x3xf32>
  // The shorter ellipsis is the end of the longer one.
  %1 = stablehlo.einsum %b, %a, config = "i...,jki->k...j" : (tensor<2x3xf32>, tensor<2x1x2xf32>) -> tensor<1x3x2xf32>
  check.expect_eq_const %1, dense<[[[5.0, 11.0], [50.0, 110.0], [500.0, 1100.0]]]> : tensor<1x3x2xf32>
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = stablehlo.einsum %a, %c, config = "...,...->..." : (tensor<2x1x2xf32>, tensor<2xf32>) -> tensor<2x1x2xf32>
  check.expect_eq_const %2, dense<[[[1.0, 4.0]], [[3.0, 8.0]]]> : tensor<2x1x2xf32>
  func.return
}

// -----

// A convolution over no channels sums nothing.
func.func @main() {
  %x = stablehlo.constant dense<> : tensor<1x4x3x0xf32>
  %w = stablehlo.constant dense<> : tensor<2x2x0x3xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x3x0xf32>, tensor<2x2x0x3xf32>) -> tensor<1x3x2x3xf32>
  check.expect_eq_const %0, dense<0.0> : tensor<1x3x2x3xf32>
  func.return
}

// -----

// Nor does a product over nothing, of elements of more than a word.
func.func @main() {
  %a = stablehlo.constant dense<> : tensor<0x3xcomplex<f64>>
  %b = stablehlo.constant dense<> : tensor<2x0xcomplex<f64>>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1] : (tensor<0x3xcomplex<f64>>, tensor<2x0xcomplex<f64>>) -> tensor<3x2xcomplex<f64>>
  check.expect_eq_const %0, dense<(0.0, 0.0)> : tensor<3x2xcomplex<f64>>
  func.return
}
