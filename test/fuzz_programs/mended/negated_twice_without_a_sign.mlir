// fuzz: data=1 specials=0 tolerance=0
func.func @main(%x: tensor<4xf8E8M0FNU>) -> tensor<4xf8E8M0FNU> {
 %a = stablehlo.negate %x : tensor<4xf8E8M0FNU>
 %b = stablehlo.negate %a : tensor<4xf8E8M0FNU>
 return %b : tensor<4xf8E8M0FNU>
}
