// fuzz: data=200020593 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<7x1xf32>, %arg2: tensor<7x1xf32>) -> tensor<7x1xf32> {
    %cst = stablehlo.constant dense<[4.000000e+00, -6.000000e+00, -1.000000e+00, 6.000000e+00, 5.000000e+00, -6.000000e+00, -4.000000e+00]> : tensor<7xf32>
    %0 = stablehlo.dot_general %arg1, %cst, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<7x1xf32>, tensor<7xf32>) -> tensor<7x1xf32>
    %1 = stablehlo.divide %arg2, %0 : tensor<7x1xf32>
    return %1 : tensor<7x1xf32>
  }
}

