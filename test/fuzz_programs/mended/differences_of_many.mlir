// fuzz: data=3 specials=0 tolerance=0,0,0
func.func @main(%l: tensor<3000xi32>, %m: tensor<2x3000xi32>, %i: tensor<i32>) -> (tensor<i32>, tensor<2xi32>) {
  %o4 = stablehlo.reduce(%l init: %i) across dimensions = [0] : (tensor<3000xi32>, tensor<i32>) -> tensor<i32>
   reducer(%x: tensor<i32>, %y: tensor<i32>) {
    %r = stablehlo.subtract %x, %y : tensor<i32>
    stablehlo.return %r : tensor<i32> }
  %o5 = stablehlo.reduce(%m init: %i) across dimensions = [1] : (tensor<2x3000xi32>, tensor<i32>) -> tensor<2xi32>
   reducer(%x: tensor<i32>, %y: tensor<i32>) {
    %r = stablehlo.subtract %x, %y : tensor<i32>
    stablehlo.return %r : tensor<i32> }
  return %o4, %o5 : tensor<i32>, tensor<2xi32>
}
