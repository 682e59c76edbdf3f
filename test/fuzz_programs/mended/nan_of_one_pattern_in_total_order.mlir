// fuzz: data=1 specials=1
func.func @main(%a: tensor<64xf8E4M3FNUZ>, %b: tensor<64xf8E4M3FNUZ>, %c: tensor<64xf8E5M2FNUZ>, %d: tensor<64xf8E5M2FNUZ>) -> (tensor<64xi1>, tensor<64xi1>, tensor<64xi1>) {
  %0 = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<64xf8E4M3FNUZ>, tensor<64xf8E4M3FNUZ>) -> tensor<64xi1>
  %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<64xf8E4M3FNUZ>, tensor<64xf8E4M3FNUZ>) -> tensor<64xi1>
  %2 = stablehlo.compare LE, %c, %d, TOTALORDER : (tensor<64xf8E5M2FNUZ>, tensor<64xf8E5M2FNUZ>) -> tensor<64xi1>
  return %0, %1, %2 : tensor<64xi1>, tensor<64xi1>, tensor<64xi1>
}
