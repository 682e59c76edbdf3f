func.func @main() -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
    %c = stablehlo.constant dense<[[5, 1, 2], [7, 3, 11]]> : tensor<2x3xi32>
    %init = stablehlo.constant dense<100> : tensor<i32>
    %0 = "stablehlo.reduce"(%c, %init) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %d = stablehlo.subtract %b, %a : tensor<i32>
      stablehlo.return %d : tensor<i32>
    }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %1 = "stablehlo.reduce"(%c, %init) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %d = stablehlo.divide %b, %a : tensor<i32>
      stablehlo.return %d : tensor<i32>
    }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    %2 = "stablehlo.reduce"(%c, %init) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %d = stablehlo.xor %a, %b : tensor<i32>
      stablehlo.return %d : tensor<i32>
    }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}
