// fuzz: data=1 specials=0 tolerance=0z,0z
func.func @main(%x: tensor<4x6xi1>) -> (tensor<i1>, tensor<i1>) {
  %init = stablehlo.constant dense<true> : tensor<i1>
  %zero = stablehlo.constant dense<false> : tensor<i1>
  %r = "stablehlo.reduce"(%x, %init) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %d = stablehlo.compare NE, %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %d : tensor<i1>
  }) : (tensor<4x6xi1>, tensor<i1>) -> tensor<4xi1>
  %s0 = stablehlo.slice %r [0:2] : (tensor<4xi1>) -> tensor<2xi1>
  %s1 = stablehlo.slice %r [2:4] : (tensor<4xi1>) -> tensor<2xi1>
  %o0 = stablehlo.reduce(%s0 init: %zero) applies stablehlo.or across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
  %o1 = stablehlo.reduce(%s1 init: %zero) applies stablehlo.or across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
  return %o0, %o1 : tensor<i1>, tensor<i1>
}
