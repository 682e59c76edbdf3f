// fuzz: data=800003980 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1xf6E3M2FN>) -> tensor<1xf6E3M2FN> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %c) : tensor<1xf6E3M2FN>, tensor<i32>
    cond {
      %c_1 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c_1 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.subtract %iterArg_0, %c_1 : tensor<i32>
      stablehlo.return %arg0, %1 : tensor<1xf6E3M2FN>, tensor<i32>
    }
    return %0#0 : tensor<1xf6E3M2FN>
  }
}

