func.func @main() {
  %x = stablehlo.constant dense<[3.0, 9.0, 1.0, 9.0]> : tensor<4xf32>
  %v, %i = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  check.expect_eq_const %v, dense<9.0> : tensor<2xf32>
  check.expect_eq_const %i, dense<[1, 3]> : tensor<2xi32>
  %h = stablehlo.constant dense<[0.5, -0.5, 0.0, 1.0]> : tensor<4xf32>
  %erf = chlo.erf %h : tensor<4xf32> -> tensor<4xf32>
  %erf_wanted = stablehlo.constant dense<[0.520499878, -0.520499878, 0.0, 0.842700793]> : tensor<4xf32>
  check.expect_close %erf, %erf_wanted, max_ulp_difference = 2 : tensor<4xf32>, tensor<4xf32>
  %a = chlo.asin %h : tensor<4xf32> -> tensor<4xf32>
  %a_wanted = stablehlo.constant dense<[0.523598776, -0.523598776, 0.0, 1.57079633]> : tensor<4xf32>
  check.expect_close %a, %a_wanted, max_ulp_difference = 2 : tensor<4xf32>, tensor<4xf32>
  func.return
}
