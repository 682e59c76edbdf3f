// Wrong CHLO is refused.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{operand and result must have one shape}}
  %0 = chlo.erf %a : tensor<2xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{operand and result must have one element type}}
  %0 = chlo.erf %a : tensor<2xf32> -> tensor<2xf64>
  return
}

// -----

func.func @f(%a: tensor<2xi32>) {
  // expected-error@+1 {{must be a tensor of floating-point}}
  %0 = chlo.erf %a : tensor<2xi32> -> tensor<2xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{cannot broadcast dimension 0 of}}
  %0 = chlo.broadcast_add %a, %b : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{broadcast_dimensions[0] = 7 is not a dimension of}}
  %0 = chlo.broadcast_add %a, %b {broadcast_dimensions = array<i64: 7>} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{k = 4 is larger than the last dimension of}}
  %0:2 = chlo.top_k(%a, k = 4) : tensor<2x3xf32> -> (tensor<2x4xf32>, tensor<2x4xi32>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected results of the shape of}}
  %0:2 = chlo.top_k(%a, k = 2) : tensor<2x3xf32> -> (tensor<2x3xf32>, tensor<2x2xi32>)
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error@+1 {{value has type 'f64', result elements are 'f32'}}
  %0 = "chlo.constant_like"(%a) {value = 1.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<5x3xf32>, %z: tensor<3xf32>) {
  // expected-error@+1 {{expected a body with 2 arguments, got 1}}
  %0:2 = chlo.scan(%a) inits (%z) dimension=0 {
  ^bb0(%input: tensor<3xf32>):
    stablehlo.return %input, %input : tensor<3xf32>, tensor<3xf32>
  } : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<5x3xf32>, %z: tensor<3xf32>) {
  // expected-error@+1 {{dimension 2 is not one of}}
  %0:2 = chlo.scan(%a) inits (%z) dimension=2 {
  ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
    stablehlo.return %input, %input : tensor<3xf32>, tensor<3xf32>
  } : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<1xf32>) {
  // expected-error@+1 {{expected a result of shape [4], got}}
  %0 = chlo.broadcast_add %a, %b : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
  return
}

// -----

// A size that is not known may be any, and is that of the result.
func.func @f(%a: tensor<?x4xf32>, %b: tensor<5x1xf32>) {
  %0 = chlo.broadcast_add %a, %b : (tensor<?x4xf32>, tensor<5x1xf32>) -> tensor<5x4xf32>
  // expected-error@+1 {{expected a result of shape [5, 4], got}}
  %1 = chlo.broadcast_add %a, %b : (tensor<?x4xf32>, tensor<5x1xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<1xf32>) {
  // expected-error@+1 {{result must have elements of type 'f32'}}
  %0 = chlo.broadcast_add %a, %b : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %0 = chlo.broadcast_complex %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  // expected-error@+1 {{result must have elements of type 'complex<f32>'}}
  %1 = chlo.broadcast_complex %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f64>>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xi32>) {
  // expected-error@+1 {{operands must have one element type}}
  %0 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction EQ>} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%p: tensor<3xi1>, %a: tensor<4xf32>, %b: tensor<1xf32>) {
  // expected-error@+1 {{cannot broadcast 'tensor<3xi1>' to 'tensor<4xf32>'}}
  %0 = chlo.broadcast_select %p, %a, %b : (tensor<3xi1>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected values of the element type of 'tensor<4xf32>' and indices of i32}}
  %0:2 = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xi8>, tensor<2xf32>)
  return
}

// -----

// Groups of rows, of what is summed over, and of batches.
func.func @f(%a: tensor<5x4xf32>, %b: tensor<3x4x2xf32>, %c: tensor<4x2xf32>, %n: tensor<3xi32>) {
  %0 = "chlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x4xf32>, tensor<3x4x2xf32>, tensor<3xi32>) -> tensor<5x2xf32>
  %1 = "chlo.ragged_dot"(%a, %c, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>} : (tensor<5x4xf32>, tensor<4x2xf32>, tensor<3xi32>) -> tensor<3x5x2xf32>
  // expected-error@+1 {{expected a result of shape [3, 5, 2], got}}
  %2 = "chlo.ragged_dot"(%a, %c, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>} : (tensor<5x4xf32>, tensor<4x2xf32>, tensor<3xi32>) -> tensor<1x1x1xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %b: tensor<4x2xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected 1 rhs_group_dimensions, got 0}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>} : (tensor<5x4xf32>, tensor<4x2xf32>, tensor<3xi32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %b: tensor<2x4x2xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{expected a right side for each of 3 groups}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x4xf32>, tensor<2x4x2xf32>, tensor<3xi32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%a: tensor<5x4xf32>, %b: tensor<3x7x2xf32>, %n: tensor<3xi32>) {
  // expected-error@+1 {{both sides must have one size along}}
  %0 = "chlo.ragged_dot"(%a, %b, %n) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<5x4xf32>, tensor<3x7x2xf32>, tensor<3xi32>) -> tensor<5x2xf32>
  return
}

// -----

func.func @f(%a: tensor<5x3xf32>, %z: tensor<3xf32>) {
  // expected-error@+1 {{expected a size of 5 along dimension 0, got 'tensor<7x3xf32>'}}
  %0:2 = chlo.scan(%a) inits (%z) dimension=0 {
  ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
    stablehlo.return %input, %carry : tensor<3xf32>, tensor<3xf32>
  } : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<7x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<5x3xf32>, %z: tensor<3xf32>) {
  // expected-error@+1 {{argument 0 of the body must have type 'tensor<3xf32>', got 'tensor<9xf32>'}}
  %0:2 = chlo.scan(%a) inits (%z) dimension=0 {
  ^bb0(%input: tensor<9xf32>, %carry: tensor<3xf32>):
    stablehlo.return %carry, %carry : tensor<3xf32>, tensor<3xf32>
  } : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%a: tensor<5x3xf32>, %z: tensor<3xf32>) {
  // expected-error@+1 {{the body must return 'tensor<9xf32>' for result 0, got 'tensor<3xf32>'}}
  %0:2 = chlo.scan(%a) inits (%z) dimension=0 {
  ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
    stablehlo.return %input, %carry : tensor<3xf32>, tensor<3xf32>
  } : (tensor<5x3xf32>, tensor<3xf32>) -> (tensor<5x9xf32>, tensor<3xf32>)
  return
}
