// fuzz: data=5 specials=0 tolerance=0,0
func.func @main(%a: tensor<300xf32>) -> (tensor<f32>, tensor<i8>) {
  %i = stablehlo.iota dim = 0 : tensor<300xi8>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %r:2 = "stablehlo.reduce"(%a, %i, %lowest, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %p: tensor<i8>, %y: tensor<f32>, %q: tensor<i8>):
    %ge = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.or %ge, %nan : tensor<i1>
    %v = stablehlo.select %first, %x, %y : tensor<i1>, tensor<f32>
    %k = stablehlo.select %first, %p, %q : tensor<i1>, tensor<i8>
    stablehlo.return %v, %k : tensor<f32>, tensor<i8>
  }) : (tensor<300xf32>, tensor<300xi8>, tensor<f32>, tensor<i8>) -> (tensor<f32>, tensor<i8>)
  return %r#0, %r#1 : tensor<f32>, tensor<i8>
}
