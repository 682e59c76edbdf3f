// fuzz: data=52 specials=0 tolerance=0,0,0,0
module {
func.func @main(%a: tensor<8x16xi32>, %b: tensor<4x16xi32>, %c: tensor<4x16xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %w = stablehlo.abs %a : tensor<8x16xi32>
  %s0 = stablehlo.slice %w [0:4, 0:16] : (tensor<8x16xi32>) -> tensor<4x16xi32>
  %s1 = stablehlo.slice %w [4:8, 0:16] : (tensor<8x16xi32>) -> tensor<4x16xi32>
  %r0:2 = "stablehlo.reduce"(%b, %s0, %z, %z) <{dimensions = array<i64: 1>}> ({^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<i32>, %v: tensor<i32>):
      %p = stablehlo.add %x, %u : tensor<i32>
      %q = stablehlo.multiply %v, %u : tensor<i32>
      %t = stablehlo.add %y, %q : tensor<i32>
      stablehlo.return %p, %t : tensor<i32>, tensor<i32>}) : (tensor<4x16xi32>, tensor<4x16xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
  %r1:2 = "stablehlo.reduce"(%c, %s1, %z, %z) <{dimensions = array<i64: 1>}> ({^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<i32>, %v: tensor<i32>):
      %p = stablehlo.add %x, %u : tensor<i32>
      %q = stablehlo.multiply %v, %u : tensor<i32>
      %t = stablehlo.add %y, %q : tensor<i32>
      stablehlo.return %p, %t : tensor<i32>, tensor<i32>}) : (tensor<4x16xi32>, tensor<4x16xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %r0#0, %r0#1, %r1#0, %r1#1 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32> }
}
