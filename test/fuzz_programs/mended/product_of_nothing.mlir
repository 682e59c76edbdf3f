// fuzz: data=51001594 specials=0 tolerance=0z
module {
  func.func @main() -> tensor<13x16xui8> {
    %c = stablehlo.constant dense<0> : tensor<13x3x0xui8>
    %c_0 = stablehlo.constant dense<0> : tensor<0x16x3x13xui8>
    %0 = stablehlo.dot_general %c, %c_0, batching_dims = [0] x [3], contracting_dims = [1, 2] x [2, 0] : (tensor<13x3x0xui8>, tensor<0x16x3x13xui8>) -> tensor<13x16xui8>
    return %0 : tensor<13x16xui8>
  }
}

