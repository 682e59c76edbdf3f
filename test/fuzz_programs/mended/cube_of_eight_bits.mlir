// fuzz: data=1 specials=0 tolerance=0z
func.func @main(%a: tensor<f32>) -> tensor<256xf8E4M3FN> {
 %i = stablehlo.iota dim = 0 : tensor<256xui8>
 %b = stablehlo.bitcast_convert %i : (tensor<256xui8>) -> tensor<256xf8E4M3FN>
 %x = stablehlo.optimization_barrier %b : tensor<256xf8E4M3FN>
 %c = stablehlo.constant dense<3.0> : tensor<256xf8E4M3FN>
 %r = stablehlo.power %x, %c : tensor<256xf8E4M3FN>
 return %r : tensor<256xf8E4M3FN>
}
