// fuzz: data=3 specials=0 tolerance=0z,0z,0z,0z,0z
func.func @main(%a: tensor<9x5xf32>, %b: tensor<9x5xf32>, %c: tensor<200x8xf32>, %i: tensor<1x3x4x2xf32>, %j: tensor<1x1x4x2xf32>, %k: tensor<3x1x2x2xf32>, %w: tensor<1x2x2x2xf32>, %u: tensor<1x4xf32>) -> (tensor<1x2xf32>, tensor<1x3xf32>, tensor<1x8xf32>, tensor<1x6x4x2xf32>, tensor<200x8xf32>) {
  %s = stablehlo.add %a, %b : tensor<9x5xf32>
  %0 = stablehlo.slice %s [3:9:4611686018427387904, 0:5:2] : (tensor<9x5xf32>) -> tensor<1x3xf32>
  %1 = stablehlo.slice %0 [0:1:4611686018427387904, 1:3] : (tensor<1x3xf32>) -> tensor<1x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = "stablehlo.reduce_window"(%c, %zero) <{window_dimensions = array<i64: 100, 1>, window_strides = array<i64: 4611686018427387904, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %t = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<200x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %3 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [9223372036854775807, 1], rhs_dilate = [1, 4611686018427387904]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4x2xf32>, tensor<3x1x2x2xf32>) -> tensor<1x1x4x2xf32>
  %4 = stablehlo.convolution(%j, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [0, 0]], lhs_dilate = [9223372036854775807, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4x2xf32>, tensor<3x1x2x2xf32>) -> tensor<1x3x4x2xf32>
  %5 = stablehlo.convolution(%i, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0], [0, 1]], rhs_dilate = [4611686018427387904, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x3x4x2xf32>
  %6 = stablehlo.concatenate %4, %5, dim = 1 : (tensor<1x3x4x2xf32>, tensor<1x3x4x2xf32>) -> tensor<1x6x4x2xf32>
  %7 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x1x4x2xf32>) -> tensor<1x6x4x2xf32>
  %8 = stablehlo.add %6, %7 : tensor<1x6x4x2xf32>
  %9 = "stablehlo.select_and_scatter"(%c, %u, %zero) <{window_dimensions = array<i64: 199, 2>, window_strides = array<i64: 9223372036854775807, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %t = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %t = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<200x8xf32>, tensor<1x4xf32>, tensor<f32>) -> tensor<200x8xf32>
  return %1, %0, %2, %8, %9 : tensor<1x2xf32>, tensor<1x3xf32>, tensor<1x8xf32>, tensor<1x6x4x2xf32>, tensor<200x8xf32>
}
