// fuzz: data=992086130 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<2049x14x3xcomplex<f64>>) -> tensor<2050x7x3xcomplex<f64>> {
    %cst = stablehlo.constant dense<(1.000000e+00,1.000000e+00)> : tensor<complex<f64>>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 2], [2, 3], [1, 4]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 2, 1, 1>, window_strides = array<i64: 1, 3, 3>}> ({
    ^bb0(%arg1: tensor<complex<f64>>, %arg2: tensor<complex<f64>>):
      stablehlo.return %arg2 : tensor<complex<f64>>
    }) : (tensor<2049x14x3xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2050x7x3xcomplex<f64>>
    return %0 : tensor<2050x7x3xcomplex<f64>>
  }
}
