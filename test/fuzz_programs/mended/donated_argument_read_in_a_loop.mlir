// fuzz: data=200032787 specials=0 tolerance=0
module {
  func.func @main(%arg0: tensor<1457x9x5xi32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<1x4x1x1xi32>) -> tensor<1457x9x5xi32> {
    %0:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg0) : tensor<1x4x1x1xi32>, tensor<1457x9x5xi32>
    cond {
      %c_1 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c_1 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<0> : tensor<1x4x1x1xi32>
      stablehlo.return %c_1, %arg0 : tensor<1x4x1x1xi32>, tensor<1457x9x5xi32>
    }
    %c = stablehlo.constant dense<0> : tensor<1457x9x5xi32>
    %1 = stablehlo.divide %0#1, %c : tensor<1457x9x5xi32>
    return %1 : tensor<1457x9x5xi32>
  }
}

