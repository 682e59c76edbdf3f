// fuzz: data=1 specials=0 tolerance=0z
func.func @main(%m0: tensor<64x8xf32>, %v0: tensor<3x8xf32>, %n: tensor<i32>) -> tensor<3x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zf = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.0> : tensor<3x64xf32>
  %t0 = stablehlo.create_token : !stablehlo.token
  %u:3 = stablehlo.while(%t = %t0, %i = %zero, %m = %m0) : !stablehlo.token, tensor<i32>, tensor<64x8xf32>
   cond {
     %nn = stablehlo.and %n, %one : tensor<i32>
     %c = stablehlo.compare LT, %i, %nn : (tensor<i32>, tensor<i32>) -> tensor<i1>
     stablehlo.return %c : tensor<i1>
   } do {
     %t1 = stablehlo.after_all %t : !stablehlo.token
     %i1 = stablehlo.add %i, %one : tensor<i32>
     %q = stablehlo.sign %m : tensor<64x8xf32>
     stablehlo.return %t1, %i1, %q : !stablehlo.token, tensor<i32>, tensor<64x8xf32>
   }
  %w:3 = stablehlo.while(%i = %zero, %v = %v0, %o = %half) : tensor<i32>, tensor<3x8xf32>, tensor<3x64xf32>
   cond {
     %nn = stablehlo.and %n, %one : tensor<i32>
     %nm = stablehlo.add %nn, %one : tensor<i32>
     %c = stablehlo.compare LT, %i, %nm : (tensor<i32>, tensor<i32>) -> tensor<i1>
     stablehlo.return %c : tensor<i1>
   } do {
     %i1 = stablehlo.add %i, %one : tensor<i32>
     %mb = stablehlo.broadcast_in_dim %u#2, dims = [1, 2] : (tensor<64x8xf32>) -> tensor<3x64x8xf32>
     %vb = stablehlo.broadcast_in_dim %v, dims = [0, 2] : (tensor<3x8xf32>) -> tensor<3x64x8xf32>
     %pr = stablehlo.multiply %mb, %vb : tensor<3x64x8xf32>
     %r = stablehlo.reduce(%pr init: %zf) applies stablehlo.add across dimensions = [2] : (tensor<3x64x8xf32>, tensor<f32>) -> tensor<3x64xf32>
     %sl = stablehlo.slice %r [0:3, 0:8] : (tensor<3x64xf32>) -> tensor<3x8xf32>
     %ng = stablehlo.sign %sl : tensor<3x8xf32>
     stablehlo.return %i1, %ng, %r : tensor<i32>, tensor<3x8xf32>, tensor<3x64xf32>
   }
  return %w#2 : tensor<3x64xf32>
}
