// fuzz: data=3 specials=0 tolerance=0
func.func @main(%x: tensor<600x4x3xi8>, %y: tensor<600x4x3xi8>, %v0: tensor<3x3xi32>) -> (tensor<3x3xi32>) {
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<600> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %z8 = stablehlo.constant dense<0> : tensor<i8>
  %r:2 = stablehlo.while(%i = %i0, %a = %v0) : tensor<i32>, tensor<3x3xi32>
   cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
     stablehlo.return %p : tensor<i1> }
   do {
     %zero = stablehlo.constant dense<0> : tensor<i32>
     %e = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1,4,3] : (tensor<600x4x3xi8>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x3xi8>
     %e1 = stablehlo.reshape %e : (tensor<1x4x3xi8>) -> tensor<4x3xi8>
     %f = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1,4,3] : (tensor<600x4x3xi8>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x3xi8>
     %f1 = stablehlo.reshape %f : (tensor<1x4x3xi8>) -> tensor<4x3xi8>
     %eb = stablehlo.broadcast_in_dim %e1, dims = [0,1] : (tensor<4x3xi8>) -> tensor<4x3x3xi8>
     %fb = stablehlo.broadcast_in_dim %f1, dims = [0,2] : (tensor<4x3xi8>) -> tensor<4x3x3xi8>
     %m = stablehlo.multiply %eb, %fb : tensor<4x3x3xi8>
     %s = stablehlo.reduce(%m init: %z8) across dimensions = [0] : (tensor<4x3x3xi8>, tensor<i8>) -> tensor<3x3xi32>
      reducer(%u: tensor<i32>, %v: tensor<i32>) {
        %t = stablehlo.add %u, %v : tensor<i32>
        stablehlo.return %t : tensor<i32> }
     %a2 = stablehlo.add %a, %s : tensor<3x3xi32>
     %i2 = stablehlo.add %i, %one : tensor<i32>
     stablehlo.return %i2, %a2 : tensor<i32>, tensor<3x3xi32>
   }
  return %r#1 : tensor<3x3xi32>
}
