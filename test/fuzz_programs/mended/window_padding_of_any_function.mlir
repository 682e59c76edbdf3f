func.func @main(%x: tensor<20x30xf32>) -> tensor<20x30xf32> {
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %two) <{window_dimensions = array<i64: 3, 3>, padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %half = stablehlo.constant dense<0.5> : tensor<f32>
      %h = stablehlo.multiply %a, %half : tensor<f32>
      %m = stablehlo.subtract %b, %h : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<20x30xf32>, tensor<f32>) -> tensor<20x30xf32>
    return %0 : tensor<20x30xf32>
}
