func.func @main() {
  %x = stablehlo.constant dense<[1.0, 0x7FC00000, -0.0, 2.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<[2.0, 0x7FC00000, 0.0, 2.0]> : tensor<4xf32>
  %eq = stablehlo.compare EQ, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %eq, dense<[false, false, true, true]> : tensor<4xi1>
  %ne = stablehlo.compare NE, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %ne, dense<[true, true, false, false]> : tensor<4xi1>
  %le = stablehlo.compare LE, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %le, dense<[true, false, true, true]> : tensor<4xi1>
  %lt = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %lt, dense<[true, false, true, false]> : tensor<4xi1>
  %u = stablehlo.constant dense<[200, 1]> : tensor<2xui8>
  %v = stablehlo.constant dense<[100, 255]> : tensor<2xui8>
  %gt = stablehlo.compare GT, %u, %v : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  check.expect_eq_const %gt, dense<[true, false]> : tensor<2xi1>
  %s = stablehlo.select %eq, %x, %y : tensor<4xi1>, tensor<4xf32>
  %s2 = stablehlo.slice %s [2:4] : (tensor<4xf32>) -> tensor<2xf32>
  check.expect_eq_const %s2, dense<[0.0, 2.0]> : tensor<2xf32>
  func.return
}
