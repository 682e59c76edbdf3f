// fuzz: data=7 specials=0 tolerance=0
func.func @main(%x: tensor<24x24xi32>, %m: tensor<24x24xi32>) -> tensor<24x24xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<6> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %w:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<24x24xi32>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %kb = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<24x24xi32>
    %mk = stablehlo.add %m, %kb : tensor<24x24xi32>
    %f = stablehlo.dot_general %mk, %m, contracting_dims = [1] x [0] : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi32>
    %sum = stablehlo.reduce(%f init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<24x24xi32>, tensor<i32>) -> tensor<i32>
    %big = stablehlo.compare LT, %sum, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %par = stablehlo.remainder %i, %two : tensor<i32>
    %odd = stablehlo.compare EQ, %par, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = "stablehlo.if"(%odd) ({
      %d = stablehlo.negate %s : tensor<24x24xi32>
      stablehlo.return %d : tensor<24x24xi32>
    }, {
      %r2 = "stablehlo.if"(%big) ({
        %e = stablehlo.abs %m : tensor<24x24xi32>
        stablehlo.return %e : tensor<24x24xi32>
      }, {
        stablehlo.return %f : tensor<24x24xi32>
      }) : (tensor<i1>) -> tensor<24x24xi32>
      stablehlo.return %r2 : tensor<24x24xi32>
    }) : (tensor<i1>) -> tensor<24x24xi32>
    %in = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %in, %r : tensor<i32>, tensor<24x24xi32>
  }
  return %w#1 : tensor<24x24xi32>
}
