// fuzz: data=41006522 specials=0 tolerance=0
module {
  func.func @main() -> tensor<8x5xui8> {
    %c = stablehlo.constant dense<[[3], [0], [-2], [-3], [3], [2], [-1], [3]]> : tensor<8x1xi8>
    %0 = stablehlo.bitcast_convert %c : (tensor<8x1xi8>) -> tensor<8x1xf8E5M2>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f8E5M2>
    %1 = stablehlo.pad %0, %cst, low = [0, 0], high = [0, 4], interior = [0, 1] : (tensor<8x1xf8E5M2>, tensor<f8E5M2>) -> tensor<8x5xf8E5M2>
    %2 = stablehlo.bitcast_convert %1 : (tensor<8x5xf8E5M2>) -> tensor<8x5xui8>
    return %2 : tensor<8x5xui8>
  }
}

