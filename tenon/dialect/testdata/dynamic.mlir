module @dynamic {
  func.func public @main(%x: tensor<?x4xf32>, %n: tensor<2xi32>, %b: tensor<?x3xf32, #stablehlo.bounds<4, ?>>, %q: tensor<4x!quant.uniform<i8:f32, 0.5:10>>, %m: tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.1:0, 0.2:1}>>) -> tensor<?x4xf32> {
    %0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %n) {broadcast_dimensions = array<i64: 0, 1>} : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %1 = "stablehlo.get_dimension_size"(%0) {dimension = 0 : i64} : (tensor<?x4xf32>) -> tensor<i32>
    %2 = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 0.5:10>>) -> tensor<4xf32>
    return %0 : tensor<?x4xf32>
  }
}
