// fuzz: data=620391741 specials=0 tolerance=0z
module {
  func.func @main() -> tensor<0x0x8xi1> {
    %c = stablehlo.constant dense<false> : tensor<0x0x8xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<9xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%iterArg = %cst, %iterArg_1 = %c_0, %iterArg_2 = %c) : tensor<9xf32>, tensor<i32>, tensor<0x0x8xi1>
    cond {
      %1 = stablehlo.compare  LT, %iterArg_1, %iterArg_1,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<9xf32>
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %c_5 = stablehlo.constant dense<false> : tensor<0x0x8xi1>
      stablehlo.return %cst_3, %c_4, %c_5 : tensor<9xf32>, tensor<i32>, tensor<0x0x8xi1>
    }
    return %0#2 : tensor<0x0x8xi1>
  }
}

