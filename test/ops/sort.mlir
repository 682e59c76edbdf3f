// Two arrays by the first, descending, equal keys in their old order; along a dimension that is not the last.
func.func @main() {
  %k = stablehlo.constant dense<[[2, 1], [3, 1], [2, 5]]> : tensor<3x2xi32>
  %v = stablehlo.constant dense<[[10, 20], [30, 40], [50, 60]]> : tensor<3x2xi32>
  %r:2 = "stablehlo.sort"(%k, %v) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %0 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  }) : (tensor<3x2xi32>, tensor<3x2xi32>) -> (tensor<3x2xi32>, tensor<3x2xi32>)
  check.expect_eq_const %r#0, dense<[[3, 5], [2, 1], [2, 1]]> : tensor<3x2xi32>
  check.expect_eq_const %r#1, dense<[[30, 60], [10, 20], [50, 40]]> : tensor<3x2xi32>
  func.return
}

// -----

// Along the last dim, where nothing says which.
func.func @main() {
  %x = stablehlo.constant dense<[[3, 1, 2], [4, 6, 5]]> : tensor<2x3xi32>
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  func.return
}
