// fuzz: data=1 specials=0 tolerance=0z
func.func @main(%x: tensor<4xf8E8M0FNU>) -> tensor<4xf8E8M0FNU> {
  %c = stablehlo.constant dense<4.0> : tensor<4xf8E8M0FNU>
  %0 = stablehlo.power %x, %c : tensor<4xf8E8M0FNU>
  return %0 : tensor<4xf8E8M0FNU>
}
