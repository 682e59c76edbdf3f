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

// -----

// An inner loop begins with an array of the outer one; a branch behind it keeps what the inner loop made, the other one what it began with.
func.func @main() {
  %double = stablehlo.constant dense<0.03125> : tensor<64x64xf32>
  %x0 = stablehlo.constant dense<1.0> : tensor<64x64xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %x = %x0, %log = %x0) : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
    cond {
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %inner:2 = stablehlo.while(%j = %zero, %y = %x) : tensor<i32>, tensor<64x64xf32>
        cond {
          %d = stablehlo.compare LT, %j, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %d : tensor<i1>
        } do {
          %j1 = stablehlo.add %j, %one : tensor<i32>
          %y1 = stablehlo.dot_general %y, %double, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
          stablehlo.return %j1, %y1 : tensor<i32>, tensor<64x64xf32>
        }
      %keep = stablehlo.remainder %i, %two : tensor<i32>
      %next:2 = "stablehlo.case"(%keep) ({
        %square = stablehlo.dot_general %inner#1, %inner#1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
        stablehlo.return %inner#1, %square : tensor<64x64xf32>, tensor<64x64xf32>
      }, {
        %square = stablehlo.dot_general %x, %log, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
        stablehlo.return %x, %square : tensor<64x64xf32>, tensor<64x64xf32>
      }) : (tensor<i32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
      %i1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %i1, %next#0, %next#1 : tensor<i32>, tensor<64x64xf32>, tensor<64x64xf32>
    }
  check.expect_eq_const %r#1, dense<16.0> : tensor<64x64xf32>
  func.return
}
