// fuzz: data=1 specials=0 tolerance=0,0
func.func @main() -> (tensor<8xi32>, tensor<8xi32>) {
  %i = stablehlo.constant dense<[-5, 3, -7, 1, 0, -6, 2, -4]> : tensor<8xi64>
  %f = stablehlo.bitcast_convert %i : (tensor<8xi64>) -> tensor<8xf64>
  %k = stablehlo.constant dense<-6.0> : tensor<8xbf16>
  %p = stablehlo.iota dim = 0 : tensor<8xi32>
  %s:3 = "stablehlo.sort"(%k, %f, %p) ({
  ^bb0(%x0: tensor<bf16>, %y0: tensor<bf16>, %x1: tensor<f64>, %y1: tensor<f64>, %x2: tensor<i32>, %y2: tensor<i32>):
    %c0 = stablehlo.compare LT, %x1, %y1, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %c1 = stablehlo.compare EQ, %x0, %y0, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %c2 = stablehlo.compare GT, %x0, %y0, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %c3 = stablehlo.and %c1, %c0 : tensor<i1>
    %c4 = stablehlo.or %c2, %c3 : tensor<i1>
    stablehlo.return %c4 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xbf16>, tensor<8xf64>, tensor<8xi32>) -> (tensor<8xbf16>, tensor<8xf64>, tensor<8xi32>)
  %t:2 = "stablehlo.sort"(%f, %p) ({
  ^bb0(%x1: tensor<f64>, %y1: tensor<f64>, %x2: tensor<i32>, %y2: tensor<i32>):
    %c0 = stablehlo.compare LT, %x1, %y1, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c0 : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<8xf64>, tensor<8xi32>) -> (tensor<8xf64>, tensor<8xi32>)
  return %s#2, %t#1 : tensor<8xi32>, tensor<8xi32>
}
