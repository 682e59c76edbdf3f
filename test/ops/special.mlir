// Special functions, against values of 200 bits that mpmath gave. Bounds: tenon/compiler/import/special.h.
func.func @main() {
  %x0 = stablehlo.constant dense<[-1.000000000e+00, -7.500000000e-01, -1.000000047e-03, 2.500000000e-01, 9.921875000e-01, 1.000000000e+00]> : tensor<6xf32>
  %w0 = stablehlo.constant dense<[-1.570796371e+00, -8.480620980e-01, -1.000000164e-03, 2.526802421e-01, 1.445714831e+00, 1.570796371e+00]> : tensor<6xf32>
  %y0 = chlo.asin %x0 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y0, %w0, max_ulp_difference = 4 : tensor<6xf32>, tensor<6xf32>
  %x1 = stablehlo.constant dense<[-1.000000000e+00, -7.500000000e-01, -1.000000047e-03, 2.500000000e-01, 9.921875000e-01, 1.000000000e+00]> : tensor<6xf32>
  %w1 = stablehlo.constant dense<[3.141592741e+00, 2.418858290e+00, 1.571796298e+00, 1.318116069e+00, 1.250815243e-01, 0.000000000e+00]> : tensor<6xf32>
  %y1 = chlo.acos %x1 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y1, %w1, max_ulp_difference = 4 : tensor<6xf32>, tensor<6xf32>
  %x2 = stablehlo.constant dense<[-1.000000000e+05, -2.000000000e+00, -1.250000000e-01, 1.000000047e-03, 7.500000000e-01, 3.000000000e+01]> : tensor<6xf32>
  %w2 = stablehlo.constant dense<[-1.570786357e+00, -1.107148767e+00, -1.243549958e-01, 9.999996983e-04, 6.435011029e-01, 1.537475348e+00]> : tensor<6xf32>
  %y2 = chlo.atan %x2 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y2, %w2, max_ulp_difference = 4 : tensor<6xf32>, tensor<6xf32>
  %x3 = stablehlo.constant dense<[-9.999999959e+11, -3.000000000e+00, -1.250000000e-01, 1.000000047e-03, 7.500000000e-01, 3.000000000e+01]> : tensor<6xf32>
  %w3 = stablehlo.constant dense<[-2.832416916e+01, -1.818446517e+00, -1.246767491e-01, 9.999999311e-04, 6.931471825e-01, 4.094622135e+00]> : tensor<6xf32>
  %y3 = chlo.asinh %x3 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y3, %w3, max_ulp_difference = 4 : tensor<6xf32>, tensor<6xf32>
  %x4 = stablehlo.constant dense<[1.000000000e+00, 1.007812500e+00, 1.500000000e+00, 3.000000000e+00, 1.000000000e+02, 9.999999959e+11]> : tensor<6xf32>
  %w4 = stablehlo.constant dense<[0.000000000e+00, 1.249187589e-01, 9.624236226e-01, 1.762747169e+00, 5.298292160e+00, 2.832416916e+01]> : tensor<6xf32>
  %y4 = chlo.acosh %x4 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y4, %w4, max_ulp_difference = 4 : tensor<6xf32>, tensor<6xf32>
  %x5 = stablehlo.constant dense<[-9.960937500e-01, -5.000000000e-01, 1.000000047e-03, 2.500000000e-01, 8.750000000e-01, 9.999847412e-01]> : tensor<6xf32>
  %w5 = stablehlo.constant dense<[-2.040452003e+00, -4.769362807e-01, 8.862271789e-04, 2.253120542e-01, 1.084787011e+00, 3.058179617e+00]> : tensor<6xf32>
  %y5 = chlo.erf_inv %x5 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y5, %w5, max_ulp_difference = 8 : tensor<6xf32>, tensor<6xf32>
  %x6 = stablehlo.constant dense<[-5.000000000e+00, -6.250000000e-01, 2.500000000e-01, 7.500000000e-01, 3.000000000e+00, 2.500000000e+00]> : tensor<6xf32>
  %w6 = stablehlo.constant dense<[2.000000000e+00, 1.623240829e+00, 7.236735821e-01, 2.888443768e-01, 2.209049671e-05, 4.069520174e-04]> : tensor<6xf32>
  %y6 = chlo.erfc %x6 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y6, %w6, max_ulp_difference = 8 : tensor<6xf32>, tensor<6xf32>
  %x7 = stablehlo.constant dense<[-4.000000000e+01, -5.000000000e-01, 1.000000047e-03, 2.000000000e+00, 7.750000000e+00, 2.000000000e+01]> : tensor<6xf32>
  %w7 = stablehlo.constant dense<[-6.248223037e-02, -1.564207971e-01, 4.995003110e-04, 2.152692825e-01, 1.360511035e-01, 8.750621974e-02]> : tensor<6xf32>
  %y7 = chlo.bessel_i1e %x7 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y7, %w7, max_ulp_difference = 8 : tensor<6xf32>, tensor<6xf32>
  %x8 = stablehlo.constant dense<[-3.750000000e+00, -5.000000000e-01, 6.250000000e-02, 3.500000000e+00, 2.000000000e+01, 1.500000000e+02]> : tensor<6xf32>
  %w8 = stablehlo.constant dense<[-1.317267895e+00, 1.265512109e+00, 2.739631653e+00, 1.200973630e+00, 3.933988571e+01, 6.000094604e+02]> : tensor<6xf32>
  %y8 = chlo.lgamma %x8 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y8, %w8, max_ulp_difference = 24 : tensor<6xf32>, tensor<6xf32>
  %x9 = stablehlo.constant dense<[-3.750000000e+00, -2.500000000e-01, 6.250000000e-02, 3.500000000e+00, 2.000000000e+01, 1.500000000e+02]> : tensor<6xf32>
  %w9 = stablehlo.constant dense<[-1.692388654e+00, 2.914139032e+00, -1.647885323e+01, 1.103156686e+00, 2.970524073e+00, 5.007298470e+00]> : tensor<6xf32>
  %y9 = chlo.digamma %x9 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y9, %w9, max_ulp_difference = 24 : tensor<6xf32>, tensor<6xf32>
  %x10 = stablehlo.constant dense<[-1.00000000000000000e+00, -7.50000000000000000e-01, -1.00000000000000002e-03, 2.50000000000000000e-01, 9.92187500000000000e-01, 1.00000000000000000e+00]> : tensor<6xf64>
  %w10 = stablehlo.constant dense<[-1.57079632679489656e+00, -8.48062078981481005e-01, -1.00000016666674163e-03, 2.52680255142078647e-01, 1.44571480320191381e+00, 1.57079632679489656e+00]> : tensor<6xf64>
  %y10 = chlo.asin %x10 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y10, %w10, max_ulp_difference = 4 : tensor<6xf64>, tensor<6xf64>
  %x11 = stablehlo.constant dense<[-1.00000000000000000e+00, -7.50000000000000000e-01, -1.00000000000000002e-03, 2.50000000000000000e-01, 9.92187500000000000e-01, 1.00000000000000000e+00]> : tensor<6xf64>
  %w11 = stablehlo.constant dense<[3.14159265358979312e+00, 2.41885840577637756e+00, 1.57179632696156335e+00, 1.31811607165281797e+00, 1.25081523592982774e-01, 0.00000000000000000e+00]> : tensor<6xf64>
  %y11 = chlo.acos %x11 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y11, %w11, max_ulp_difference = 4 : tensor<6xf64>, tensor<6xf64>
  %x12 = stablehlo.constant dense<[-1.00000000000000000e+05, -2.00000000000000000e+00, -1.25000000000000000e-01, 1.00000000000000002e-03, 7.50000000000000000e-01, 3.00000000000000000e+01]> : tensor<6xf64>
  %w12 = stablehlo.constant dense<[-1.57078632679489694e+00, -1.10714871779409041e+00, -1.24354994546761438e-01, 9.99999666666866790e-04, 6.43501108793284371e-01, 1.53747533091664934e+00]> : tensor<6xf64>
  %y12 = chlo.atan %x12 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y12, %w12, max_ulp_difference = 4 : tensor<6xf64>, tensor<6xf64>
  %x13 = stablehlo.constant dense<[-1.00000000000000000e+12, -3.00000000000000000e+00, -1.25000000000000000e-01, 1.00000000000000002e-03, 7.50000000000000000e-01, 3.00000000000000000e+01]> : tensor<6xf64>
  %w13 = stablehlo.constant dense<[-2.83241682964884944e+01, -1.81844645923206683e+00, -1.24676746921442747e-01, 9.99999833333408252e-04, 6.93147180559945286e-01, 4.09462222433053036e+00]> : tensor<6xf64>
  %y13 = chlo.asinh %x13 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y13, %w13, max_ulp_difference = 4 : tensor<6xf64>, tensor<6xf64>
  %x14 = stablehlo.constant dense<[1.00000000000000000e+00, 1.00781250000000000e+00, 1.50000000000000000e+00, 3.00000000000000000e+00, 1.00000000000000000e+02, 1.00000000000000000e+12]> : tensor<6xf64>
  %w14 = stablehlo.constant dense<[0.00000000000000000e+00, 1.24918762511080611e-01, 9.62423650119206942e-01, 1.76274717403908610e+00, 5.29829236561048500e+00, 2.83241682964884944e+01]> : tensor<6xf64>
  %y14 = chlo.acosh %x14 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y14, %w14, max_ulp_difference = 4 : tensor<6xf64>, tensor<6xf64>
  %x15 = stablehlo.constant dense<[-9.96093750000000000e-01, -5.00000000000000000e-01, 1.00000000000000002e-03, 2.50000000000000000e-01, 8.75000000000000000e-01, 9.99984741210937500e-01]> : tensor<6xf64>
  %w15 = stablehlo.constant dense<[-2.04045201460560932e+00, -4.76936276204469878e-01, 8.86227157466552124e-04, 2.25312055012178103e-01, 1.08478704006928317e+00, 3.05817958185091587e+00]> : tensor<6xf64>
  %y15 = chlo.erf_inv %x15 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y15, %w15, max_ulp_difference = 8 : tensor<6xf64>, tensor<6xf64>
  %x16 = stablehlo.constant dense<[-5.00000000000000000e+00, -6.25000000000000000e-01, 2.50000000000000000e-01, 7.50000000000000000e-01, 3.00000000000000000e+00, 8.50000000000000000e+00]> : tensor<6xf64>
  %w16 = stablehlo.constant dense<[1.99999999999846256e+00, 1.62324088218841789e+00, 7.23673609831763098e-01, 2.88844366346484860e-01, 2.20904969985854412e-05, 2.76232407133377156e-33]> : tensor<6xf64>
  %y16 = chlo.erfc %x16 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y16, %w16, max_ulp_difference = 8 : tensor<6xf64>, tensor<6xf64>
  %x17 = stablehlo.constant dense<[-4.00000000000000000e+01, -5.00000000000000000e-01, 1.00000000000000002e-03, 2.00000000000000000e+00, 7.75000000000000000e+00, 2.00000000000000000e+01]> : tensor<6xf64>
  %w17 = stablehlo.constant dense<[-6.24822290744420639e-02, -1.56420803184871698e-01, 4.99500312354221316e-04, 2.15269289248937651e-01, 1.36051100080339105e-01, 8.75062221832886705e-02]> : tensor<6xf64>
  %y17 = chlo.bessel_i1e %x17 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y17, %w17, max_ulp_difference = 8 : tensor<6xf64>, tensor<6xf64>
  %x18 = stablehlo.constant dense<[-3.75000000000000000e+00, -5.00000000000000000e-01, 6.25000000000000000e-02, 3.50000000000000000e+00, 2.00000000000000000e+01, 1.50000000000000000e+02]> : tensor<6xf64>
  %w18 = stablehlo.constant dense<[-1.31726794244636358e+00, 1.26551212348464537e+00, 2.73963162194620358e+00, 1.20097360234707429e+00, 3.93398841871994946e+01, 6.00009470555327425e+02]> : tensor<6xf64>
  %y18 = chlo.lgamma %x18 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y18, %w18, max_ulp_difference = 24 : tensor<6xf64>, tensor<6xf64>
  %x19 = stablehlo.constant dense<[-3.75000000000000000e+00, -2.50000000000000000e-01, 6.25000000000000000e-02, 3.50000000000000000e+00, 2.00000000000000000e+01, 1.50000000000000000e+02]> : tensor<6xf64>
  %w19 = stablehlo.constant dense<[-1.69238859831133026e+00, 2.91413912021352761e+00, -1.64788534900601036e+01, 1.10315664064524310e+00, 2.97052399224214891e+00, 5.00729825707567944e+00]> : tensor<6xf64>
  %y19 = chlo.digamma %x19 : tensor<6xf64> -> tensor<6xf64>
  check.expect_close %y19, %w19, max_ulp_difference = 24 : tensor<6xf64>, tensor<6xf64>
  %x20 = stablehlo.constant dense<[0.0, -2.0, 0x7F800000, 0xFF800000, 1.0, 2.0]> : tensor<6xf32>
  %w20 = stablehlo.constant dense<[0x7F800000, 0x7F800000, 0x7F800000, 0x7F800000, 0.0, 0.0]> : tensor<6xf32>
  %y20 = chlo.lgamma %x20 : tensor<6xf32> -> tensor<6xf32>
  check.expect_almost_eq %y20, %w20 : tensor<6xf32>
  %x21 = stablehlo.constant dense<[-1.0, 1.0, 0.0, -0.0, 0.0, 0.0]> : tensor<6xf32>
  %w21 = stablehlo.constant dense<[0xFF800000, 0x7F800000, 0.0, -0.0, 0.0, 0.0]> : tensor<6xf32>
  %y21 = chlo.erf_inv %x21 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y21, %w21, max_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  %x22 = stablehlo.constant dense<[0xFF800000, 0x7F800000, 0.0, -0.0, 30.0, -30.0]> : tensor<6xf32>
  %w22 = stablehlo.constant dense<[2.0, 0.0, 1.0, 1.0, 0.0, 2.0]> : tensor<6xf32>
  %y22 = chlo.erfc %x22 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y22, %w22, max_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  %x23 = stablehlo.constant dense<[0.0, 0x7F800000, 0xFF800000, 0.0, 0.0, 0.0]> : tensor<6xf32>
  %w23 = stablehlo.constant dense<[0.0, 0.0, -0.0, 0.0, 0.0, 0.0]> : tensor<6xf32>
  %y23 = chlo.bessel_i1e %x23 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y23, %w23, max_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  %x24 = stablehlo.constant dense<[0.0, -0.0, 0x7F800000, 0xFF800000, 0.0, 0.0]> : tensor<6xf32>
  %w24 = stablehlo.constant dense<[0.0, -0.0, 0x7F800000, 0xFF800000, 0.0, 0.0]> : tensor<6xf32>
  %y24 = chlo.asinh %x24 : tensor<6xf32> -> tensor<6xf32>
  check.expect_close %y24, %w24, max_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  // The neighbours of numbers, and of zeros.
  %a = stablehlo.constant dense<[1.0, 1.0, -1.0, 0.0, -0.0, 2.0]> : tensor<6xf32>
  %b = stablehlo.constant dense<[2.0, 0.0, -2.0, -1.0, 1.0, 2.0]> : tensor<6xf32>
  %n = chlo.next_after %a, %b : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
  %bits = stablehlo.bitcast_convert %n : (tensor<6xf32>) -> tensor<6xi32>
  check.expect_eq_const %bits, dense<[0x3F800001, 0x3F7FFFFF, 0xBF800001, 0x80000001, 1, 0x40000000]> : tensor<6xi32>
  %i = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.0]> : tensor<4xf32>
  %inf = chlo.is_inf %i : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %inf, dense<[true, true, false, false]> : tensor<4xi1>
  %pos = chlo.is_pos_inf %i : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %pos, dense<[true, false, false, false]> : tensor<4xi1>
  %neg = chlo.is_neg_inf %i : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %neg, dense<[false, true, false, false]> : tensor<4xi1>
  // What is not defined is no number.
  %o = stablehlo.constant dense<[0.5, -2.0, 0x7FC00000]> : tensor<3xf32>
  %un = chlo.acosh %o : tensor<3xf32> -> tensor<3xf32>
  %is = stablehlo.compare NE, %un, %un : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %is, dense<true> : tensor<3xi1>
  %p = stablehlo.constant dense<[0.0, -3.0, 0x7FC00000]> : tensor<3xf32>
  %di = chlo.digamma %p : tensor<3xf32> -> tensor<3xf32>
  %isd = stablehlo.compare NE, %di, %di : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %isd, dense<true> : tensor<3xi1>
  // Narrow numbers are rounded once.
  %h = stablehlo.constant dense<[0.5, -0.75]> : tensor<2xbf16>
  %e = chlo.erf_inv %h : tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %e, dense<[0.4765625, -0.8125]> : tensor<2xbf16>
  func.return
}
