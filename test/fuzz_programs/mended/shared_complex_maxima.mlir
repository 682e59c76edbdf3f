// fuzz: data=1 specials=0 tolerance=0
func.func @main(%y: tensor<64xcomplex<f32>>) -> (tensor<complex<f32>>) {
  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %2 = stablehlo.reduce(%y init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<64xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  return %2 : tensor<complex<f32>>
}
