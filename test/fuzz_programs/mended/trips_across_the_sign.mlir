// Trips of a loop over unsigned numbers on both sides of 2^63.
// fuzz: data=10230 specials=0 tolerance=0z
module {
  func.func @main() -> tensor<ui64> {
    %c = stablehlo.constant dense<9223372036854775806> : tensor<ui64>
    %0 = stablehlo.while(%iterArg = %c) : tensor<ui64>
    cond {
      %c_0 = stablehlo.constant dense<9223372036854775809> : tensor<ui64>
      %1 = stablehlo.compare  LT, %iterArg, %c_0,  UNSIGNED : (tensor<ui64>, tensor<ui64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_0 = stablehlo.constant dense<1> : tensor<ui64>
      %1 = stablehlo.add %iterArg, %c_0 : tensor<ui64>
      stablehlo.return %1 : tensor<ui64>
    }
    return %0 : tensor<ui64>
  }
}

