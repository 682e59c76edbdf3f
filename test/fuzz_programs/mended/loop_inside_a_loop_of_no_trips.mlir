// fuzz: data=1 specials=0 tolerance=0
func.func @main() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %step = stablehlo.optimization_barrier %zero : tensor<i32>
  %outer:2 = stablehlo.while(%i = %zero, %a = %zero) : tensor<i32>, tensor<i32>
  cond {
    %p = stablehlo.compare LT, %i, %step : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %inner = stablehlo.while(%k = %zero) : tensor<i32>
    cond {
      %n = stablehlo.constant dense<100> : tensor<i32>
      %q = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %next = stablehlo.add %k, %step : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.add %a, %inner : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<i32>
  }
  return %outer#1 : tensor<i32>
}
