// On one device: what no pair sends to it is zero.
func.func @main() {
  %x = stablehlo.constant dense<[5.0, 6.0]> : tensor<2xf32>
  %a = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %a, dense<[5.0, 6.0]> : tensor<2xf32>
  %b = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %b, dense<0.0> : tensor<2xf32>
  %c = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %c, dense<0.0> : tensor<2xf32>
  return
}
