// fuzz: data=4 specials=0 tolerance=0
func.func @main(%a: tensor<50x6xi32>) -> tensor<50x6xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %last = "stablehlo.reduce_window"(%a, %zero) ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %z = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.compare NE, %y, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.select %p, %y, %x : tensor<i1>, tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 50, 1>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 49], [0, 0]]> : tensor<2x2xi64>} : (tensor<50x6xi32>, tensor<i32>) -> tensor<50x6xi32>
  return %last : tensor<50x6xi32>
}
