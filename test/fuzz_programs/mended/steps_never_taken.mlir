// fuzz: data=3 specials=0 tolerance=0z,0z,0z
func.func @main(%a: tensor<9x5xf32>, %b: tensor<9x5xf32>, %c: tensor<200x8xf32>) -> (tensor<1x2xf32>, tensor<1x3xf32>, tensor<1x8xf32>) {
  %s = stablehlo.add %a, %b : tensor<9x5xf32>
  %0 = stablehlo.slice %s [3:9:4611686018427387904, 0:5:2] : (tensor<9x5xf32>) -> tensor<1x3xf32>
  %1 = stablehlo.slice %0 [0:1:4611686018427387904, 1:3] : (tensor<1x3xf32>) -> tensor<1x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = "stablehlo.reduce_window"(%c, %zero) <{window_dimensions = array<i64: 100, 1>, window_strides = array<i64: 4611686018427387904, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %t = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<200x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  return %1, %0, %2 : tensor<1x2xf32>, tensor<1x3xf32>, tensor<1x8xf32>
}
