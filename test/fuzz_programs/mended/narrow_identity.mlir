// fuzz: data=5095028 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<2x2x3xi4>) -> tensor<2x1x7xi4> {
    %c = stablehlo.constant dense<0> : tensor<i4>
    %0 = "stablehlo.reduce_window"(%arg0, %c) <{base_dilations = array<i64: 1, 1, 2>, padding = dense<[[0, 0], [1, 0], [2, 0]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 2, 1>, window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<i4>, %arg2: tensor<i4>):
      %1 = stablehlo.maximum %arg1, %arg2 : tensor<i4>
      stablehlo.return %1 : tensor<i4>
    }) : (tensor<2x2x3xi4>, tensor<i4>) -> tensor<2x1x7xi4>
    return %0 : tensor<2x1x7xi4>
  }
}

