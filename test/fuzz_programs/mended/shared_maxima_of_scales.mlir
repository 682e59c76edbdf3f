// fuzz: data=1 specials=0 tolerance=0z
func.func @main(%s: tensor<100xf8E8M0FNU>) -> (tensor<f8E8M0FNU>) {
  %b = stablehlo.constant dense<1.0> : tensor<f8E8M0FNU>
  %2 = stablehlo.reduce(%s init: %b) applies stablehlo.maximum across dimensions = [0] : (tensor<100xf8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<f8E8M0FNU>
  return %2 : tensor<f8E8M0FNU>
}
