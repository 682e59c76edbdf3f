// fuzz: data=1 specials=0 tolerance=0
func.func @main(%x: tensor<300x200xf32>) -> tensor<300xf32> {
  %h = stablehlo.constant dense<0.5> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%acc: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.multiply %y, %h : tensor<f32>
    %s = stablehlo.maximum %acc, %m : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<300x200xf32>, tensor<f32>) -> tensor<300xf32>
  return %0 : tensor<300xf32>
}
