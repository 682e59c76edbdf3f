// fuzz: data=1 specials=0 tolerance=0z
func.func @main(%a: tensor<f32>) -> tensor<65536xbf16> {
 %i = stablehlo.iota dim = 0 : tensor<65536xui16>
 %b = stablehlo.bitcast_convert %i : (tensor<65536xui16>) -> tensor<65536xbf16>
 %x = stablehlo.optimization_barrier %b : tensor<65536xbf16>
 %c = stablehlo.constant dense<3.0> : tensor<65536xbf16>
 %r = stablehlo.power %x, %c : tensor<65536xbf16>
 return %r : tensor<65536xbf16>
}
