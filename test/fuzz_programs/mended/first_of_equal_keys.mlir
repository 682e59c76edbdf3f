// fuzz: data=17 specials=0 tolerance=0,0
func.func @main(%a: tensor<1000xi32>, %b: tensor<1000xui8>) -> (tensor<i32>, tensor<ui8>) {
  %lo = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<255> : tensor<ui8>
  %three = stablehlo.constant dense<1> : tensor<1000xui8>
  %i = stablehlo.and %b, %three : tensor<1000xui8>
  %r:2 = "stablehlo.reduce"(%a, %i, %lo, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %p: tensor<ui8>, %y: tensor<i32>, %q: tensor<ui8>):
    %k = stablehlo.compare LT, %p, %q, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    %v = stablehlo.select %k, %x, %y : tensor<i1>, tensor<i32>
    %w = stablehlo.select %k, %p, %q : tensor<i1>, tensor<ui8>
    stablehlo.return %v, %w : tensor<i32>, tensor<ui8>
  }) : (tensor<1000xi32>, tensor<1000xui8>, tensor<i32>, tensor<ui8>) -> (tensor<i32>, tensor<ui8>)
  return %r#0, %r#1 : tensor<i32>, tensor<ui8>
}
