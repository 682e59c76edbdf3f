// fuzz: data=1 specials=0 tolerance=0
module {
  func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<i32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
 %c7 = stablehlo.constant dense<7> : tensor<1xi32>
    %0 = stablehlo.dynamic_update_slice %x, %c7, %z : (tensor<3xi32>, tensor<1xi32>, tensor<i32>) -> tensor<3xi32>
    %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %3 = stablehlo.multiply %2, %2 : tensor<3xi32>
    %4 = stablehlo.slice %3 [2:3] : (tensor<3xi32>) -> tensor<1xi32>
    %5 = stablehlo.dynamic_update_slice %2, %4, %z : (tensor<3xi32>, tensor<1xi32>, tensor<i32>) -> tensor<3xi32>
    %6 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
    return %5, %6 : tensor<3xi32>, tensor<i32>
  }
}
