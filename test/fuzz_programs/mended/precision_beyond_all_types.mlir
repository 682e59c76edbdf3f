// fuzz: data=2 specials=1 tolerance=0,0,0
func.func @main(%x: tensor<37xf16>, %y: tensor<37xf32>, %z: tensor<37xf64>) -> (tensor<37xf16>, tensor<37xf32>, tensor<37xf64>) {
  %0 = stablehlo.reduce_precision %x, format = e12m10 : tensor<37xf16>
  %1 = stablehlo.reduce_precision %y, format = e40m3 : tensor<37xf32>
  %2 = stablehlo.reduce_precision %z, format = e8m60 : tensor<37xf64>
  return %0, %1, %2 : tensor<37xf16>, tensor<37xf32>, tensor<37xf64>
}
