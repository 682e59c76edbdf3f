func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %more = stablehlo.add %sum, %i : tensor<i32>
      stablehlo.return %next, %more : tensor<i32>, tensor<i32>
    }
  check.expect_eq_const %r#1, dense<45> : tensor<i32>
  %never:1 = stablehlo.while(%i = %ten) : tensor<i32>
    cond {
      %c = stablehlo.compare LT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %zero : tensor<i32>
    }
  check.expect_eq_const %never, dense<10> : tensor<i32>
  func.return
}

// -----

// An index out of range takes the last branch, on either side.
func.func @main() {
  %bad = stablehlo.constant dense<-1> : tensor<i32>
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0 = "stablehlo.case"(%bad) ({
    stablehlo.return %a : tensor<2xi32>
  }, {
    stablehlo.return %b : tensor<2xi32>
  }) : (tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[3, 4]> : tensor<2xi32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %1 = "stablehlo.if"(%t) ({
    stablehlo.return %a : tensor<2xi32>
  }, {
    stablehlo.return %b : tensor<2xi32>
  }) : (tensor<i1>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[1, 2]> : tensor<2xi32>
  func.return
}

// -----

module {
  func.func private @twice(%x: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.add %x, %x : tensor<i32>
    return %0 : tensor<i32>
  }
  func.func public @main() {
    %x = stablehlo.constant dense<21> : tensor<i32>
    %0 = func.call @twice(%x) : (tensor<i32>) -> tensor<i32>
    check.expect_eq_const %0, dense<42> : tensor<i32>
    %1 = stablehlo.composite "my.twice" %x {decomposition = @twice} : (tensor<i32>) -> tensor<i32>
    check.expect_eq_const %1, dense<42> : tensor<i32>
    %2:2 = stablehlo.optimization_barrier %0, %x : tensor<i32>, tensor<i32>
    check.expect_eq_const %2#1, dense<21> : tensor<i32>
    func.return
  }
}
