// fuzz: data=3 specials=0 tolerance=0
func.func @main(%x: tensor<200x2x512xi8>, %w: tensor<512xi8>, %q: tensor<2x2xf32>, %v0: tensor<2xf32>) -> (tensor<2xf32>) {
  %i0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<200> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %z8 = stablehlo.constant dense<0> : tensor<i8>
  %r:2 = stablehlo.while(%i = %i0, %a = %v0) : tensor<i32>, tensor<2xf32>
   cond { %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
     stablehlo.return %p : tensor<i1> }
   do {
     %zero = stablehlo.constant dense<0> : tensor<i32>
     %e = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1,2,512] : (tensor<200x2x512xi8>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x512xi8>
     %e1 = stablehlo.reshape %e : (tensor<1x2x512xi8>) -> tensor<2x512xi8>
     %fb = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<512xi8>) -> tensor<2x512xi8>
     %m = stablehlo.multiply %e1, %fb : tensor<2x512xi8>
     %s = stablehlo.reduce(%m init: %z8) across dimensions = [1] : (tensor<2x512xi8>, tensor<i8>) -> tensor<2xi32>
      reducer(%u: tensor<i32>, %v: tensor<i32>) {
        %t = stablehlo.add %u, %v : tensor<i32>
        stablehlo.return %t : tensor<i32> }
     %sf = stablehlo.convert %s : (tensor<2xi32>) -> tensor<2xf32>
     %a2 = stablehlo.maximum %a, %sf : tensor<2xf32>
     %i2 = stablehlo.add %i, %one : tensor<i32>
     stablehlo.return %i2, %a2 : tensor<i32>, tensor<2xf32>
   }
  return %r#1 : tensor<2xf32>
}
