// Ops that travel as custom calls (tenon/dialect/named_calls.h). Values by mpmath, ranks by hand.
func.func @main() {
  %x = stablehlo.constant dense<[-2.0, -0.5, 0.0, 0.25, 3.0]> : tensor<5xf32>
  %erf = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<5xf32>) -> tensor<5xf32>
  %erf_want = stablehlo.constant dense<[-0.995322265, -0.520499878, 0.0, 0.27632639, 0.999977910]> : tensor<5xf32>
  check.expect_close %erf, %erf_want, max_ulp_difference = 4 : tensor<5xf32>, tensor<5xf32>
  %tan = stablehlo.custom_call @mhlo.tan(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<5xf32>) -> tensor<5xf32>
  %tan_want = stablehlo.constant dense<[2.18503986, -0.546302490, 0.0, 0.255341921, -0.142546543]> : tensor<5xf32>
  check.expect_close %tan, %tan_want, max_ulp_difference = 4 : tensor<5xf32>, tensor<5xf32>

  %m = stablehlo.constant dense<[[3.0, -1.0, 3.0, 2.0], [-5.0, 0.5, -6.0, 0.5]]> : tensor<2x4xf32>
  %top:2 = stablehlo.custom_call @mhlo.topk(%m) {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %top_values = stablehlo.constant dense<[[3.0, 3.0, 2.0], [0.5, 0.5, -5.0]]> : tensor<2x3xf32>
  %top_places = stablehlo.constant dense<[[0, 2, 3], [1, 3, 0]]> : tensor<2x3xi32>
  check.expect_eq %top#0, %top_values : tensor<2x3xf32>
  check.expect_eq %top#1, %top_places : tensor<2x3xi32>

  %low:2 = stablehlo.custom_call @mhlo.topk(%m) {mhlo.attributes = {k = 2 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %low_values = stablehlo.constant dense<[[-1.0, 2.0], [-6.0, -5.0]]> : tensor<2x2xf32>
  %low_places = stablehlo.constant dense<[[1, 3], [2, 0]]> : tensor<2x2xi32>
  check.expect_eq %low#0, %low_values : tensor<2x2xf32>
  check.expect_eq %low#1, %low_places : tensor<2x2xi32>

  %u = stablehlo.constant dense<[7, 0, 255, 3]> : tensor<4xui8>
  %least:2 = stablehlo.custom_call @mhlo.topk(%u) {mhlo.attributes = {k = 2 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4xui8>) -> (tensor<2xui8>, tensor<2xi32>)
  %least_values = stablehlo.constant dense<[0, 3]> : tensor<2xui8>
  %least_places = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  check.expect_eq %least#0, %least_values : tensor<2xui8>
  check.expect_eq %least#1, %least_places : tensor<2xi32>

  // Floats without a sign.
  %e = stablehlo.constant dense<[4.0, 1.0, 2.0, 8.0]> : tensor<4xf8E8M0FNU>
  %tiny:2 = stablehlo.custom_call @mhlo.topk(%e) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4xf8E8M0FNU>) -> (tensor<3xf8E8M0FNU>, tensor<3xi32>)
  %tiny_values = stablehlo.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf8E8M0FNU>
  %tiny_places = stablehlo.constant dense<[1, 2, 0]> : tensor<3xi32>
  check.expect_eq %tiny#0, %tiny_values : tensor<3xf8E8M0FNU>
  check.expect_eq %tiny#1, %tiny_places : tensor<3xi32>
  return
}

// -----

// XLA's call with a comparator: here the least come first, of equal ones the one that was first.
func.func @main() {
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 1.0], [0.0, 5.0, -1.0, 2.0]]> : tensor<2x4xf32>
  %0:2 = stablehlo.custom_call @TopK(%x) {called_computations = [@before]} : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %0#0, dense<[[1.0, 1.0, 2.0], [-1.0, 0.0, 2.0]]> : tensor<2x3xf32>
  check.expect_eq_const %0#1, dense<[[1, 3, 2], [2, 0, 3]]> : tensor<2x3xi32>
  func.return
}
func.func private @before(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  func.return %0 : tensor<i1>
}

// -----

// Calls that take or give tuples are about what is in them.
func.func @main() {
  %x = stablehlo.constant dense<[3.0, -1.0, 4.0]> : tensor<3xf32>
  %top = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<3xf32>) -> tuple<tensor<2xf32>, tensor<2xi32>>
  %values = stablehlo.get_tuple_element %top[0] : (tuple<tensor<2xf32>, tensor<2xi32>>) -> tensor<2xf32>
  %places = stablehlo.get_tuple_element %top[1] : (tuple<tensor<2xf32>, tensor<2xi32>>) -> tensor<2xi32>
  check.expect_eq_const %values, dense<[4.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const %places, dense<[2, 0]> : tensor<2xi32>
  %inner = stablehlo.tuple %x : tuple<tensor<3xf32>>
  %outer = stablehlo.tuple %inner : tuple<tuple<tensor<3xf32>>>
  %1 = stablehlo.custom_call @mhlo.square(%outer) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tuple<tuple<tensor<3xf32>>>) -> tensor<3xf32>
  check.expect_eq_const %1, dense<[9.0, 1.0, 16.0]> : tensor<3xf32>
  func.return
}
