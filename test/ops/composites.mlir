// A composite is what it decomposes into, whatever it is called, unless it is a function of CHLO as that is written.
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
func.func private @sum(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.add %x, %y : tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func @main() {
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %x = stablehlo.optimization_barrier %c : tensor<2xf32>
  // Of another version than the one that is known.
  %a = stablehlo.composite "chlo.sinh" %x {decomposition = @twice} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %a, dense<[2.0, 4.0]> : tensor<2xf32>
  // With attributes, which say more than is known.
  %b = stablehlo.composite "chlo.sinh" %x {decomposition = @twice, composite_attributes = {scale = 2.0 : f32}, version = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %b, dense<[2.0, 4.0]> : tensor<2xf32>
  // Not CHLO's.
  %d = stablehlo.composite "chlo.exponential" %x {decomposition = @twice, version = 1 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %d, dense<[2.0, 4.0]> : tensor<2xf32>
  // Of another number of operands.
  %e = stablehlo.composite "chlo.erf" %x, %x {decomposition = @sum, version = 1 : i32} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %e, dense<[2.0, 4.0]> : tensor<2xf32>
  func.return
}

// -----

// Tuples come from functions and composites as other values do.
func.func private @pair(%x: tensor<f32>) -> tuple<tensor<f32>, tuple<tensor<f32>, tensor<i32>>> {
  %y = stablehlo.add %x, %x : tensor<f32>
  %i = stablehlo.constant dense<7> : tensor<i32>
  %inner = stablehlo.tuple %y, %i : tuple<tensor<f32>, tensor<i32>>
  %outer = stablehlo.tuple %x, %inner : tuple<tensor<f32>, tuple<tensor<f32>, tensor<i32>>>
  return %outer : tuple<tensor<f32>, tuple<tensor<f32>, tensor<i32>>>
}
func.func private @second(%t: tuple<tensor<f32>, tuple<tensor<f32>, tensor<i32>>>) -> tensor<f32> {
  %inner = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tuple<tensor<f32>, tensor<i32>>>) -> tuple<tensor<f32>, tensor<i32>>
  %y = stablehlo.get_tuple_element %inner[0] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func @main() {
  %c = stablehlo.constant dense<3.0> : tensor<f32>
  %x = stablehlo.optimization_barrier %c : tensor<f32>
  %t = func.call @pair(%x) : (tensor<f32>) -> tuple<tensor<f32>, tuple<tensor<f32>, tensor<i32>>>
  %y = func.call @second(%t) : (tuple<tensor<f32>, tuple<tensor<f32>, tensor<i32>>>) -> tensor<f32>
  check.expect_eq_const %y, dense<6.0> : tensor<f32>
  func.return
}
