// torch_index_select: along any dim, with dims that operand and index share, from either end, and places that are clamped.
func.func @main() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xi32>
  %i = stablehlo.constant dense<[2, -7, 9, 1]> : tensor<4xi64>
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<2x3x2xi32>, tensor<4xi64>) -> tensor<2x4x2xi32>
  check.expect_eq_const %0, dense<[[[5, 6], [1, 2], [5, 6], [3, 4]], [[11, 12], [7, 8], [11, 12], [9, 10]]]> : tensor<2x4x2xi32>
  %j = stablehlo.constant dense<[[1, 0], [0, 0]]> : tensor<2x2xui8>
  %1 = "stablehlo.torch_index_select"(%x, %j) {dim = -1 : i64, batch_dims = 0 : i64} : (tensor<2x3x2xi32>, tensor<2x2xui8>) -> tensor<2x3x2x2xi32>
  check.expect_eq_const %1, dense<[[[[2, 1], [1, 1]], [[4, 3], [3, 3]], [[6, 5], [5, 5]]], [[[8, 7], [7, 7]], [[10, 9], [9, 9]], [[12, 11], [11, 11]]]]> : tensor<2x3x2x2xi32>
  %k = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
  %2 = "stablehlo.torch_index_select"(%x, %k) {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x3x2xi32>, tensor<2x1xi32>) -> tensor<2x1x2xi32>
  check.expect_eq_const %2, dense<[[[1, 2]], [[11, 12]]]> : tensor<2x1x2xi32>
  %3 = "stablehlo.torch_index_select"(%x, %k) {dim = 2 : i64, batch_dims = -1 : i64} : (tensor<2x3x2xi32>, tensor<2x1xi32>) -> tensor<2x3x1xi32>
  check.expect_eq_const %3, dense<[[[1], [3], [5]], [[8], [10], [12]]]> : tensor<2x3x1xi32>
  return
}
