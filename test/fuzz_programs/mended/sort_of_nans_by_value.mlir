// fuzz: data=1 specials=0 tolerance=0,0
func.func @main(%v: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
 %k = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
 %k2 = stablehlo.constant dense<[0x7FC00000, 0xFFC00000, 0x7FC00001, 0xFFC00000]> : tensor<4xf32>
 %p = stablehlo.constant dense<[3, 2, 1, 0]> : tensor<4xi32>
 %r:2 = "stablehlo.sort"(%k, %p) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
   %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
   %q = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
   %m = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
   %n = stablehlo.and %q, %m : tensor<i1>
   %o = stablehlo.or %l, %n : tensor<i1>
   stablehlo.return %o : tensor<i1>
 }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
 %s:2 = "stablehlo.sort"(%k2, %p) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
   %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
   stablehlo.return %l : tensor<i1>
 }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
 return %r#1, %s#1 : tensor<4xi32>, tensor<4xi32>
}
