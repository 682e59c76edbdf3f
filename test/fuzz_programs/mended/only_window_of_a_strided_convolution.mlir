// fuzz: data=91000365 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1x2x2xf32>) -> tensor<1x2x1xf32> {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<1x1x2xf32>
    %0 = stablehlo.convolution(%arg0, %cst) dim_numbers = [0, b, f]x[0, o, i]->[0, b, f], window = {stride = [5], pad = [[0, 2]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x2xf32>, tensor<1x1x2xf32>) -> tensor<1x2x1xf32>
    return %0 : tensor<1x2x1xf32>
  }
}

