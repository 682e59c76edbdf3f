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
