func.func @main() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %t, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  %r = stablehlo.reshape %x : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %r, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %b = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<2x3xi32>) -> tensor<3x1x2xi32>
  check.expect_eq_const %b, dense<[[[1, 4]], [[2, 5]], [[3, 6]]]> : tensor<3x1x2xi32>
  %rev = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xi32>
  check.expect_eq_const %rev, dense<[[6, 5, 4], [3, 2, 1]]> : tensor<2x3xi32>
  %c = stablehlo.concatenate %x, %rev, dim = 0 : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<4x3xi32>
  check.expect_eq_const %c, dense<[[1, 2, 3], [4, 5, 6], [6, 5, 4], [3, 2, 1]]> : tensor<4x3xi32>
  %s = stablehlo.slice %x [0:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %s, dense<[[1, 3], [4, 6]]> : tensor<2x2xi32>
  %i = stablehlo.iota dim = 1 : tensor<2x3xi32>
  check.expect_eq_const %i, dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  func.return
}

// -----

// Interior padding comes first; negative edges crop what it made, too.
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.pad %x, %nine, low = [-1], high = [-1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[9, 2, 9]> : tensor<3xi32>
  %1 = stablehlo.pad %x, %nine, low = [1], high = [2], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<6xi32>
  check.expect_eq_const %1, dense<[9, 1, 2, 3, 9, 9]> : tensor<6xi32>
  %e = stablehlo.constant dense<> : tensor<0xi32>
  %2 = stablehlo.pad %e, %nine, low = [1], high = [1], interior = [3] : (tensor<0xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<9> : tensor<2xi32>
  func.return
}

// -----

// Starts are clamped so that the window stays inside.
func.func @main() {
  %x = stablehlo.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
  %far = stablehlo.constant dense<100> : tensor<i32>
  %before = stablehlo.constant dense<-3> : tensor<i32>
  %big = stablehlo.constant dense<200> : tensor<ui8>
  %0 = stablehlo.dynamic_slice %x, %far, sizes = [2] : (tensor<5xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[3, 4]> : tensor<2xi32>
  %1 = stablehlo.dynamic_slice %x, %before, sizes = [2] : (tensor<5xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[0, 1]> : tensor<2xi32>
  %2 = stablehlo.dynamic_slice %x, %big, sizes = [2] : (tensor<5xi32>, tensor<ui8>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[3, 4]> : tensor<2xi32>
  %u = stablehlo.constant dense<[8, 9]> : tensor<2xi32>
  %3 = stablehlo.dynamic_update_slice %x, %u, %far : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> tensor<5xi32>
  check.expect_eq_const %3, dense<[0, 1, 2, 8, 9]> : tensor<5xi32>
  check.expect_eq_const %x, dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
  func.return
}
