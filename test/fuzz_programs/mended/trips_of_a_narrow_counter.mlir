// fuzz: data=1 specials=0 tolerance=0.001,0.001
func.func @main(%x: tensor<200xf32>, %y: tensor<f32>) -> (tensor<f32>) {
  %i0 = stablehlo.constant dense<-100> : tensor<i8>
  %n = stablehlo.constant dense<100> : tensor<i8>
  %one = stablehlo.constant dense<1> : tensor<i8>
  %h = stablehlo.constant dense<100> : tensor<i32>
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %r:2 = stablehlo.while(%i = %i0, %a = %y) : tensor<i8>, tensor<f32>
   cond { %p = stablehlo.compare LT, %i, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
     stablehlo.return %p : tensor<i1> }
   do {
     %w = stablehlo.convert %i : (tensor<i8>) -> tensor<i32>
     %k = stablehlo.add %w, %h : tensor<i32>
     %e = stablehlo.dynamic_slice %x, %k, sizes = [1] : (tensor<200xf32>, tensor<i32>) -> tensor<1xf32>
     %s = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
     %s1 = stablehlo.tanh %s : tensor<f32>
     %s2 = stablehlo.exponential %s1 : tensor<f32>
     %s3 = stablehlo.sine %s2 : tensor<f32>
     %m = stablehlo.multiply %a, %c : tensor<f32>
     %a2 = stablehlo.add %m, %s3 : tensor<f32>
     %i2 = stablehlo.add %i, %one : tensor<i8>
     stablehlo.return %i2, %a2 : tensor<i8>, tensor<f32>
   }
  return %r#1 : tensor<f32>
}
