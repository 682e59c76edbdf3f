// Of equal zeros the combiner keeps the first one, with its sign.
func.func @main(%a: tensor<3x40xf32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<3x40xf32>
  %negative = stablehlo.constant dense<-0.0> : tensor<3x40xf32>
  %p = stablehlo.compare GT, %a, %zero : (tensor<3x40xf32>, tensor<3x40xf32>) -> tensor<3x40xi1>
  %x = stablehlo.select %p, %zero, %negative : tensor<3x40xi1>, tensor<3x40xf32>
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 1 : tensor<3x40xi32>
  %0:2 = stablehlo.reduce(%x init: %m), (%i init: %z) across dimensions = [1] : (tensor<3x40xf32>, tensor<3x40xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>) reducer(%b: tensor<f32>, %c: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %g = stablehlo.compare GT, %b, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %n = stablehlo.compare NE, %b, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %o = stablehlo.or %g, %n : tensor<i1>
    %e = stablehlo.compare EQ, %b, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = stablehlo.and %e, %l : tensor<i1>
    %q = stablehlo.or %o, %d : tensor<i1>
    %r1 = stablehlo.select %q, %b, %c : tensor<i1>, tensor<f32>
    %r2 = stablehlo.select %q, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %r1, %r2 : tensor<f32>, tensor<i32>
  }
  %bits = stablehlo.bitcast_convert %0#0 : (tensor<3xf32>) -> tensor<3xi32>
  return %bits, %0#1 : tensor<3xi32>, tensor<3xi32>
}
