// Places of truths: reductions of their own, like those of numbers.
func.func @main(%a: tensor<300x77xf32>) -> (tensor<300xi32>, tensor<300xi32>, tensor<300xi1>) {
  %zero = stablehlo.constant dense<0.9> : tensor<300x77xf32>
  %x = stablehlo.compare GT, %a, %zero : (tensor<300x77xf32>, tensor<300x77xf32>) -> tensor<300x77xi1>
  %m = stablehlo.constant dense<false> : tensor<i1>
  %tr = stablehlo.constant dense<true> : tensor<i1>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<300x77xi32>
  %0:2 = stablehlo.reduce(%x init: %m), (%i init: %z) across dimensions = [1] : (tensor<300x77xi1>, tensor<300x77xi32>, tensor<i1>, tensor<i32>) -> (tensor<300xi1>, tensor<300xi32>) reducer(%b: tensor<i1>, %c: tensor<i1>) (%j: tensor<i32>, %k: tensor<i32>) {
    %g = stablehlo.compare GT, %b, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %n = stablehlo.compare NE, %b, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %o = stablehlo.or %g, %n : tensor<i1>
    %e = stablehlo.compare EQ, %b, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %l = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = stablehlo.and %e, %l : tensor<i1>
    %q = stablehlo.or %o, %d : tensor<i1>
    %r1 = stablehlo.select %o, %b, %c : tensor<i1>, tensor<i1>
    %r2 = stablehlo.select %q, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %r1, %r2 : tensor<i1>, tensor<i32>
  }
  %1:2 = stablehlo.reduce(%x init: %tr), (%i init: %z) across dimensions = [1] : (tensor<300x77xi1>, tensor<300x77xi32>, tensor<i1>, tensor<i32>) -> (tensor<300xi1>, tensor<300xi32>) reducer(%b: tensor<i1>, %c: tensor<i1>) (%j: tensor<i32>, %k: tensor<i32>) {
    %g = stablehlo.compare LT, %b, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %e = stablehlo.compare EQ, %b, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %l = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = stablehlo.and %e, %l : tensor<i1>
    %q = stablehlo.or %g, %d : tensor<i1>
    %r1 = stablehlo.select %g, %b, %c : tensor<i1>, tensor<i1>
    %r2 = stablehlo.select %q, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %r1, %r2 : tensor<i1>, tensor<i32>
  }
  return %0#1, %1#1, %0#0 : tensor<300xi32>, tensor<300xi32>, tensor<300xi1>
}
