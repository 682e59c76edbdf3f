// fuzz: data=1 specials=0 tolerance=0z,0z
func.func @main(%z: tensor<ui8>) -> (tensor<256xf8E8M0FNU>, tensor<256xf8E8M0FNU>) {
  %i = stablehlo.iota dim = 0 : tensor<256xui8>
  %zb = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<ui8>) -> tensor<256xui8>
  %zz = stablehlo.and %zb, %i : tensor<256xui8>
  %zx = stablehlo.xor %zz, %zz : tensor<256xui8>
  %ii = stablehlo.add %i, %zx : tensor<256xui8>
  %x = stablehlo.bitcast_convert %ii : (tensor<256xui8>) -> tensor<256xf8E8M0FNU>
  %c = stablehlo.constant dense<0x00> : tensor<256xf8E8M0FNU>
  %0 = stablehlo.subtract %x, %c : tensor<256xf8E8M0FNU>
  %1 = stablehlo.add %x, %c : tensor<256xf8E8M0FNU>
  return %0, %1 : tensor<256xf8E8M0FNU>, tensor<256xf8E8M0FNU>
}
