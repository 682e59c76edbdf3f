// fuzz: data=691741856 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<6x4xi32>, %arg1: tensor<8x3xi32>) -> tensor<7x8xi32> {
    %0 = "stablehlo.map"(%arg0, %arg0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %16 = stablehlo.minimum %c_4, %arg2 : tensor<i32>
      stablehlo.return %16 : tensor<i32>
    }) : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi32>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<6x4xi32>) -> tensor<4x6xi32>
    %c = stablehlo.constant dense<0> : tensor<0x4xi32>
    %2 = stablehlo.reverse %0, dims = [0] : tensor<6x4xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<2x4xi32>
    %c_1 = stablehlo.constant dense<1> : tensor<0x4xi32>
    %3 = stablehlo.concatenate %2, %c_0, %c, %c_1, dim = 0 : (tensor<6x4xi32>, tensor<2x4xi32>, tensor<0x4xi32>, tensor<0x4xi32>) -> tensor<8x4xi32>
    %4 = stablehlo.slice %3 [0:8, 0:1] : (tensor<8x4xi32>) -> tensor<8x1xi32>
    %5 = stablehlo.reverse %3, dims = [1] : tensor<8x4xi32>
    %6 = stablehlo.slice %5 [0:8, 3:4] : (tensor<8x4xi32>) -> tensor<8x1xi32>
    %7 = stablehlo.concatenate %arg1, %4, %arg1, %6, dim = 1 : (tensor<8x3xi32>, tensor<8x1xi32>, tensor<8x3xi32>, tensor<8x1xi32>) -> tensor<8x8xi32>
    %8 = stablehlo.slice %3 [0:8, 0:3] : (tensor<8x4xi32>) -> tensor<8x3xi32>
    %9 = stablehlo.slice %3 [0:8, 2:3] : (tensor<8x4xi32>) -> tensor<8x1xi32>
    %10 = stablehlo.slice %3 [0:8, 0:3] : (tensor<8x4xi32>) -> tensor<8x3xi32>
    %11 = stablehlo.slice %3 [0:8, 0:1] : (tensor<8x4xi32>) -> tensor<8x1xi32>
    %12 = stablehlo.concatenate %8, %9, %10, %11, dim = 1 : (tensor<8x3xi32>, tensor<8x1xi32>, tensor<8x3xi32>, tensor<8x1xi32>) -> tensor<8x8xi32>
    %13 = stablehlo.subtract %7, %12 : tensor<8x8xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %14 = stablehlo.reduce(%1 init: %c_2) applies stablehlo.and across dimensions = [0, 1] : (tensor<4x6xi32>, tensor<i32>) -> tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %15 = stablehlo.dynamic_slice %13, %14, %c_3, sizes = [7, 8] : (tensor<8x8xi32>, tensor<i32>, tensor<i32>) -> tensor<7x8xi32>
    return %15 : tensor<7x8xi32>
  }
}

