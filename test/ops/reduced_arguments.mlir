// Functions whose arguments are reduced by products that must be exact, far out; also where products are rounded: of
// devices without fused multiply-add. Values by mpmath.
func.func @main() {
  %c0 = stablehlo.constant dense<[1.700000000e+01, -1.000000000e+02, 1.000500000e+03, 1.234500000e+04, 9.999900000e+04]> : tensor<5xf32>
  %x0 = stablehlo.optimization_barrier %c0 : tensor<5xf32>
  %w0 = stablehlo.constant dense<[-9.613974690e-01, 5.063656569e-01, 9.952739477e-01, -9.937716126e-01, 8.602482677e-01]> : tensor<5xf32>
  %y0 = stablehlo.sine %x0 : tensor<5xf32>
  check.expect_close %y0, %w0, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  %c1 = stablehlo.constant dense<[1.700000000e+01, -1.000000000e+02, 1.000500000e+03, 1.234500000e+04, 9.999900000e+04]> : tensor<5xf32>
  %x1 = stablehlo.optimization_barrier %c1 : tensor<5xf32>
  %w1 = stablehlo.constant dense<[-2.751633525e-01, 8.623188734e-01, 9.710690379e-02, 1.114357859e-01, -5.098753572e-01]> : tensor<5xf32>
  %y1 = stablehlo.cosine %x1 : tensor<5xf32>
  check.expect_close %y1, %w1, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  %c2 = stablehlo.constant dense<[3.250000000e+00, -1.000000000e+02, 1.000500000e+03, 1.234500000e+04]> : tensor<4xf32>
  %x2 = stablehlo.optimization_barrier %c2 : tensor<4xf32>
  %w2 = stablehlo.constant dense<[1.088340282e-01, 5.872139335e-01, 1.024926090e+01, -8.917885780e+00]> : tensor<4xf32>
  %y2 = stablehlo.tan %x2 : tensor<4xf32>
  check.expect_close %y2, %w2, max_ulp_difference = 2 : tensor<4xf32>, tensor<4xf32>
  %c3 = stablehlo.constant dense<[8.025000000e+01, -7.950000000e+01, 3.300000000e+01, 1.275000000e+01]> : tensor<4xf32>
  %x3 = stablehlo.optimization_barrier %c3 : tensor<4xf32>
  %w3 = stablehlo.constant dense<[7.114299785e+34, 2.975696794e-35, 2.146435743e+14, 3.445519062e+05]> : tensor<4xf32>
  %y3 = stablehlo.exponential %x3 : tensor<4xf32>
  check.expect_close %y3, %w3, max_ulp_difference = 2 : tensor<4xf32>, tensor<4xf32>
  %c4 = stablehlo.constant dense<[6.050000000e+01, -3.250000000e+00, 2.100000000e+01]> : tensor<3xf32>
  %x4 = stablehlo.optimization_barrier %c4 : tensor<3xf32>
  %w4 = stablehlo.constant dense<[1.882851789e+26, -9.612258077e-01, 1.318815744e+09]> : tensor<3xf32>
  %y4 = stablehlo.exponential_minus_one %x4 : tensor<3xf32>
  check.expect_close %y4, %w4, max_ulp_difference = 2 : tensor<3xf32>, tensor<3xf32>
  %c5 = stablehlo.constant dense<[1.70000000000000000e+01, -1.00000000000000000e+02, 1.00050000000000000e+03, 1.23450000000000000e+04, 9.99990000000000000e+04]> : tensor<5xf64>
  %x5 = stablehlo.optimization_barrier %c5 : tensor<5xf64>
  %w5 = stablehlo.constant dense<[-9.61397491879556809e-01, 5.06365641109758791e-01, 9.95273957105213491e-01, -9.93771636455681118e-01, 8.60248280789742026e-01]> : tensor<5xf64>
  %y5 = stablehlo.sine %x5 : tensor<5xf64>
  check.expect_close %y5, %w5, max_ulp_difference = 2 : tensor<5xf64>, tensor<5xf64>
  %c6 = stablehlo.constant dense<[1.70000000000000000e+01, -1.00000000000000000e+02, 1.00050000000000000e+03, 1.23450000000000000e+04, 9.99990000000000000e+04]> : tensor<5xf64>
  %x6 = stablehlo.optimization_barrier %c6 : tensor<5xf64>
  %w6 = stablehlo.constant dense<[-2.75163338051596928e-01, 8.62318872287683891e-01, 9.71069014443852602e-02, 1.11435786784127230e-01, -5.09875372417900929e-01]> : tensor<5xf64>
  %y6 = stablehlo.cosine %x6 : tensor<5xf64>
  check.expect_close %y6, %w6, max_ulp_difference = 2 : tensor<5xf64>, tensor<5xf64>
  %c7 = stablehlo.constant dense<[3.25000000000000000e+00, -1.00000000000000000e+02, 1.00050000000000000e+03, 1.23450000000000000e+04]> : tensor<4xf64>
  %x7 = stablehlo.optimization_barrier %c7 : tensor<4xf64>
  %w7 = stablehlo.constant dense<[1.08834025513329713e-01, 5.87213915156929112e-01, 1.02492607868373131e+01, -8.91788594251871736e+00]> : tensor<4xf64>
  %y7 = stablehlo.tan %x7 : tensor<4xf64>
  check.expect_close %y7, %w7, max_ulp_difference = 2 : tensor<4xf64>, tensor<4xf64>
  %c8 = stablehlo.constant dense<[8.02500000000000000e+01, -7.95000000000000000e+01, 3.30000000000000000e+01, 1.27500000000000000e+01]> : tensor<4xf64>
  %x8 = stablehlo.optimization_barrier %c8 : tensor<4xf64>
  %w8 = stablehlo.constant dense<[7.11429996583030441e+34, 2.97569687359338248e-35, 2.14643579785916062e+14, 3.44551896137823700e+05]> : tensor<4xf64>
  %y8 = stablehlo.exponential %x8 : tensor<4xf64>
  check.expect_close %y8, %w8, max_ulp_difference = 2 : tensor<4xf64>, tensor<4xf64>
  %c9 = stablehlo.constant dense<[6.05000000000000000e+01, -3.25000000000000000e+00, 2.10000000000000000e+01]> : tensor<3xf64>
  %x9 = stablehlo.optimization_barrier %c9 : tensor<3xf64>
  %w9 = stablehlo.constant dense<[1.88285187488585144e+26, -9.61225792168277970e-01, 1.31881573348321462e+09]> : tensor<3xf64>
  %y9 = stablehlo.exponential_minus_one %x9 : tensor<3xf64>
  check.expect_close %y9, %w9, max_ulp_difference = 2 : tensor<3xf64>, tensor<3xf64>
  return
}
