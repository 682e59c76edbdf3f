// fuzz: data=5204253 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<1x1xi32>, %arg1: tensor<i32>, %arg2: tensor<4x4xui64>) -> tensor<4x4x2xui16> {
    %0 = stablehlo.bitcast_convert %arg2 : (tensor<4x4xui64>) -> tensor<4x4x4xf16>
    %c = stablehlo.constant dense<0> : tensor<ui64>
    %c_0 = stablehlo.constant dense<0> : tensor<ui64>
    %1 = stablehlo.dynamic_slice %0, %c, %c_0, %c_0, sizes = [4, 4, 2] : (tensor<4x4x4xf16>, tensor<ui64>, tensor<ui64>, tensor<ui64>) -> tensor<4x4x2xf16>
    %2 = stablehlo.bitcast_convert %1 : (tensor<4x4x2xf16>) -> tensor<4x4x2xui16>
    return %2 : tensor<4x4x2xui16>
  }
}

