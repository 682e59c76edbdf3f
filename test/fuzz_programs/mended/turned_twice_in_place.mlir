// fuzz: data=91002095 specials=0 tolerance=0,0,0,0,0,0,0
module {
  func.func @main(%arg0: tensor<2x2xi32> {tf.aliasing_output = 6 : i32}, %arg1: tensor<1x1xi64>) -> (tensor<1x1xi32>, tensor<i32>, tensor<1x1xi32>, tensor<1x1xi64>, tensor<1x1xi32>, tensor<1x1xi32>, tensor<2x2xi32>) {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    %0 = stablehlo.dot_general %arg0, %c, batching_dims = [1] x [0], contracting_dims = [] x [] : (tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x2xi32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<1x1xi32>
    return %c_4, %c_3, %c_2, %arg1, %c_1, %c_0, %1 : tensor<1x1xi32>, tensor<i32>, tensor<1x1xi32>, tensor<1x1xi64>, tensor<1x1xi32>, tensor<1x1xi32>, tensor<2x2xi32>
  }
}

