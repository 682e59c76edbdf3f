// fuzz: data=2002152 specials=0 tolerance=0z
module {
  func.func @main() -> tensor<i1> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %0:2 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %c) : tensor<i1>, tensor<i32>
    cond {
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c_2 : tensor<i1>
    } do {
      %1:2 = stablehlo.optimization_barrier %iterArg_1, %iterArg_1 : tensor<i32>, tensor<i32>
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      %2 = stablehlo.maximum %iterArg_1, %1#1 : tensor<i32>
      stablehlo.return %c_2, %2 : tensor<i1>, tensor<i32>
    }
    return %0#0 : tensor<i1>
  }
}

