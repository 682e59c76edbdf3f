// fuzz: data=1 specials=0 tolerance=0z,0z
func.func @main(%x: tensor<4x6xi32>) -> (tensor<i32>, tensor<i32>) {
  %init = stablehlo.constant dense<3> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce"(%x, %init) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %d = stablehlo.subtract %b, %a : tensor<i32>
      stablehlo.return %d : tensor<i32>
  }) : (tensor<4x6xi32>, tensor<i32>) -> tensor<4xi32>
  %s0 = stablehlo.slice %r [0:2] : (tensor<4xi32>) -> tensor<2xi32>
  %s1 = stablehlo.slice %r [2:4] : (tensor<4xi32>) -> tensor<2xi32>
  %o0 = stablehlo.reduce(%s0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  %o1 = stablehlo.reduce(%s1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
  return %o0, %o1 : tensor<i32>, tensor<i32>
}
