// fuzz: data=1 specials=0 tolerance=0
// Where a window covers nothing but padding, the sum is a positive zero whatever the sign of the weights.
func.func @main(%x: tensor<1x2x3xf32>, %w: tensor<2x1x1xf32>) -> tensor<1x2x5xf32> {
  %minus_two = stablehlo.constant dense<-2.0> : tensor<2x1x1xf32>
  %size = stablehlo.abs %w : tensor<2x1x1xf32>
  %negative = stablehlo.subtract %minus_two, %size : tensor<2x1x1xf32>
  %y = stablehlo.convolution(%x, %negative) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[2, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x5xf32>
  return %y : tensor<1x2x5xf32>
}
