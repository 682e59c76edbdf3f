// fuzz: data=31 specials=1 tolerance=0,0,0,0,0
// Scales of eight bits from and to every float, by their bits: as arguments, in between, and as results.
func.func @main(%codes: tensor<300xui8>, %x: tensor<300xf32>, %s: tensor<41xf8E8M0FNU>) -> (tensor<300xf32>, tensor<300xf64>, tensor<300xbf16>, tensor<300xf8E8M0FNU>, tensor<41xf16>) {
  %0 = stablehlo.bitcast_convert %codes : (tensor<300xui8>) -> tensor<300xf8E8M0FNU>
  %1 = stablehlo.convert %0 : (tensor<300xf8E8M0FNU>) -> tensor<300xf32>
  %2 = stablehlo.convert %0 : (tensor<300xf8E8M0FNU>) -> tensor<300xf64>
  %3 = stablehlo.convert %x : (tensor<300xf32>) -> tensor<300xf8E8M0FNU>
  %4 = stablehlo.convert %3 : (tensor<300xf8E8M0FNU>) -> tensor<300xbf16>
  %5 = stablehlo.reverse %3, dims = [0] : tensor<300xf8E8M0FNU>
  %6 = stablehlo.convert %s : (tensor<41xf8E8M0FNU>) -> tensor<41xf16>
  return %1, %2, %4, %5, %6 : tensor<300xf32>, tensor<300xf64>, tensor<300xbf16>, tensor<300xf8E8M0FNU>, tensor<41xf16>
}
