// fuzz: data=5159880 specials=1 tolerance=0
module {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<1x1xcomplex<f32>>, %arg2: tensor<complex<f64>>, %arg3: tensor<1xui16>) -> tensor<1xf16> {
    %0 = stablehlo.bitcast_convert %arg3 : (tensor<1xui16>) -> tensor<1xf16>
    %1 = stablehlo.reduce_precision %0, format = e5m10 : tensor<1xf16>
    return %1 : tensor<1xf16>
  }
}

