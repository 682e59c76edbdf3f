// fuzz: data=995004024 specials=0 tolerance=0z,0z,0z,0z,0z,0z,0z
module {
  func.func @main(%arg0: tensor<1xi32> {tf.aliasing_output = 6 : i32}, %arg1: tensor<i32>) -> (tensor<1x1xi32>, tensor<3xi32>, tensor<0x3xi32>, tensor<0x3xi32>, tensor<1x1xi32>, tensor<1x1xi32>, tensor<1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<3xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<1x3xi32>
    %0:3 = "stablehlo.case"(%arg1) ({
      %c_7 = stablehlo.constant dense<0> : tensor<1xi32>
      %c_8 = stablehlo.constant dense<0> : tensor<1x3xi32>
      stablehlo.return %c_7, %c_1, %c_8 : tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>
    }, {
      %c_7 = stablehlo.constant dense<0> : tensor<1x3xi32>
      stablehlo.return %c, %c_1, %c_7 : tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>
    }, {
      %c_7 = stablehlo.constant dense<0> : tensor<1x3xi32>
      stablehlo.return %c_0, %c_1, %c_7 : tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>
    }, {
      %c_7 = stablehlo.constant dense<0> : tensor<1x3xi32>
      stablehlo.return %arg0, %c_1, %c_7 : tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>
    }, {
      %c_7 = stablehlo.constant dense<0> : tensor<1x3xi32>
      stablehlo.return %c_0, %c_1, %c_7 : tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>
    }, {
      %c_7 = stablehlo.constant dense<0> : tensor<1xi32>
      %c_8 = stablehlo.constant dense<0> : tensor<1x3xi32>
      stablehlo.return %c_7, %c_1, %c_8 : tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>
    }, {
      stablehlo.return %c_0, %c_1, %c_2 : tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>
    }) : (tensor<i32>) -> (tensor<1xi32>, tensor<3xi32>, tensor<1x3xi32>)
    %c_3 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<1x1xi32>
    %c_5 = stablehlo.constant dense<0> : tensor<0x3xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<1x1xi32>
    return %c_6, %0#1, %c_5, %c_5, %c_4, %c_3, %0#0 : tensor<1x1xi32>, tensor<3xi32>, tensor<0x3xi32>, tensor<0x3xi32>, tensor<1x1xi32>, tensor<1x1xi32>, tensor<1xi32>
  }
}

