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

// -----

// What is summed in a wider type is the operand in that type.
func.func @main() {
  %x = stablehlo.constant dense<[0.5, 3.0]> : tensor<2xf32>
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf64>
  check.expect_eq_const %0, dense<[0.5, 3.0]> : tensor<2xf64>
  func.return
}
