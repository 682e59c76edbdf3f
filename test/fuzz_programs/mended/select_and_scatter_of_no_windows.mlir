// Nothing is scattered: the result has its own shape all the same.
module {
  func.func @main() -> tensor<5x1x1xi4> {
    %c = stablehlo.constant dense<0> : tensor<5x1x1xi4>
    %c_0 = stablehlo.constant dense<-2> : tensor<3x1x0xi4>
    %c_1 = stablehlo.constant dense<0> : tensor<i4>
    %0 = "stablehlo.select_and_scatter"(%c, %c_0, %c_1) <{padding = dense<[[1, 1], [2, 1], [0, 1]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 3, 3, 3>}> ({
    ^bb0(%arg0: tensor<i4>, %arg1: tensor<i4>):
      %1 = stablehlo.compare  LE, %arg0, %arg1,  SIGNED : (tensor<i4>, tensor<i4>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%arg0: tensor<i4>, %arg1: tensor<i4>):
      %1 = stablehlo.add %arg0, %arg1 : tensor<i4>
      stablehlo.return %1 : tensor<i4>
    }) : (tensor<5x1x1xi4>, tensor<3x1x0xi4>, tensor<i4>) -> tensor<5x1x1xi4>
    return %0 : tensor<5x1x1xi4>
  }
}

