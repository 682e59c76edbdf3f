// fuzz: data=921015287 specials=0 tolerance=0z
module {
  func.func @main(%arg0: tensor<8xi64>) -> tensor<8x8xf8E4M3FN> {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<8xi64>) -> tensor<8x8xf8E4M3FN>
    %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f8E4M3FN>, %arg2: tensor<f8E4M3FN>):
      %2 = stablehlo.compare  LT, %arg1, %arg2,  TOTALORDER : (tensor<f8E4M3FN>, tensor<f8E4M3FN>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN>
    return %1 : tensor<8x8xf8E4M3FN>
  }
}
