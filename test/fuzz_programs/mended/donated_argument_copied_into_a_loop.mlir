module {
  func.func @main(%x: tensor<512x512xf32> {tf.aliasing_output = 0 : i32}, %n: tensor<i32>) -> tensor<512x512xf32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %w:2 = stablehlo.while(%i = %z, %c = %x) : tensor<i32>, tensor<512x512xf32>
    cond {
      %lt = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %lt : tensor<i1>
    } do {
      %k = stablehlo.constant dense<1> : tensor<i32>
      %half = stablehlo.constant dense<0.5> : tensor<512x512xf32>
      %j = stablehlo.add %i, %k : tensor<i32>
      %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
      %r = stablehlo.reverse %t, dims = [0] : tensor<512x512xf32>
      %d = stablehlo.multiply %r, %half : tensor<512x512xf32>
      stablehlo.return %j, %d : tensor<i32>, tensor<512x512xf32>
    }
    %one = stablehlo.constant dense<1.0> : tensor<512x512xf32>
    %out = stablehlo.add %w#1, %one : tensor<512x512xf32>
    return %out : tensor<512x512xf32>
  }
}
