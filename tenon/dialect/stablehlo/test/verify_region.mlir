// Wrong programs: the check of each constraint says what was got and what was wanted. Labels are those of the checks.
// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// if_c1
func.func @f(%p: tensor<i1>) {
  // expected-error@+1 {{true_branch must take (), got ('tensor<f32>')}}
  "stablehlo.if"(%p) ({
    ^bb0(%x: tensor<f32>):
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<i1>) -> ()
  return
}

// -----

// if_c2
func.func @f(%p: tensor<i1>, %a: tensor<f32>) {
  // expected-error@+1 {{false_branch must return}}
  %0 = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return
    }) : (tensor<i1>) -> tensor<f32>
  return
}

// -----

// if_c3
func.func @f(%p: tensor<i1>, %a: tensor<f32>) {
  // expected-error@+1 {{true_branch must return}}
  %0 = "stablehlo.if"(%p) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %a : tensor<f32>
    }) : (tensor<i1>) -> tensor<f64>
  return
}

// -----

// if: predicate
func.func @f(%p: tensor<2xi1>) {
  // expected-error@+1 {{pred must be a scalar}}
  "stablehlo.if"(%p) ({
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<2xi1>) -> ()
  return
}

// -----

// case_c1
func.func @f(%i: tensor<i32>) {
  // expected-error@+1 {{expected at least one branch}}
  "stablehlo.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

// case_c3
func.func @f(%i: tensor<i32>, %a: tensor<f32>) {
  // expected-error@+1 {{each branch must return}}
  %0 = "stablehlo.case"(%i) ({
      stablehlo.return %a : tensor<f32>
    }, {
      stablehlo.return %i : tensor<i32>
    }) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

// case: empty region
func.func @f(%i: tensor<i32>) {
  // expected-error@+1 {{failed to verify constraint: region with 1 blocks}}
  "stablehlo.case"(%i) ({}) : (tensor<i32>) -> ()
  return
}

// -----

// while_c1
func.func @f(%a: tensor<f32>) {
  // expected-error@+1 {{cond must return}}
  %0 = "stablehlo.while"(%a) ({
    ^bb0(%x: tensor<f32>):
      stablehlo.return %x : tensor<f32>
    }, {
    ^bb0(%x: tensor<f32>):
      stablehlo.return %x : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// while_c2
func.func @f(%a: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{body must take}}
  %0 = "stablehlo.while"(%a) ({
    ^bb0(%x: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%x: tensor<f64>):
      stablehlo.return %x : tensor<f64>
    }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

// while_c3
func.func @f(%a: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{results must have the operands' types}}
  %0 = "stablehlo.while"(%a) ({
    ^bb0(%x: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%x: tensor<f32>):
      stablehlo.return %x : tensor<f32>
    }) : (tensor<f32>) -> tensor<f64>
  return
}

// -----

// reduce_c1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{inputs must have one shape}}
  %0:2 = "stablehlo.reduce"(%a, %b, %z, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%l: tensor<f32>, %m: tensor<f32>, %r: tensor<f32>, %s: tensor<f32>):
      stablehlo.return %l, %m : tensor<f32>, tensor<f32>
    }) : (tensor<2x3xf32>, tensor<3x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

// reduce_c2
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f64>) {
  // expected-error@+1 {{initial value 0 must have the element type of input 0}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f64>) -> tensor<3xf32>
  return
}

// -----

// reduce_c3
func.func @f() {
  // expected-error@+1 {{expected at least one input}}
  "stablehlo.reduce"() <{dimensions = array<i64>}> ({
      stablehlo.return
    }) : () -> ()
  return
}

// -----

// reduce_c4
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{dimensions must be in [0, 2), got 2}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 2>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// reduce_c5
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{dimensions must not repeat a value, got [0, 0]}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0, 0>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// reduce_c6
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{body must take 2 arguments, got 1}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// reduce_c6
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{body must return 1 values, got 0}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// reduce_c6
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{body must have one tensor type for arguments 0 and 1}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f64>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// reduce_c6
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{body must work on a type that elements of}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x0: tensor<i32>, %x1: tensor<i32>):
      stablehlo.return %x0 : tensor<i32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

// reduce_c7
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// reduce_c8
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf64>
  return
}

// -----

// reduce_window_c4
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window_dimensions must have 2 entries, got 1}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c5
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window_dimensions must be at least 1, got 0}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 0>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c6
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window_strides must have 2 entries, got 1}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c7
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window_strides must be at least 1, got 0}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 0>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c8
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{base_dilations must have 2 entries, got 3}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: 1, 1, 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c10
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window_dilations must have 2 entries, got 1}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, window_dilations = array<i64: 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c1
func.func @f() {
  // expected-error@+1 {{expected at least one input}}
  "stablehlo.reduce_window"() <{window_dimensions = array<i64>}> ({
      stablehlo.return
    }) : () -> ()
  return
}

// -----

// reduce_window_c3
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f64>) {
  // expected-error@+1 {{initial value 0 must have the element type of input 0}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f64>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c16
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf64>
  return
}

// -----

// reduce_window_c9
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{base_dilations must be at least 1, got 0}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: 1, 0>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c11
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{window_dilations must be at least 1, got 0}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, window_dilations = array<i64: 0, 1>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c12
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{padding must have shape [2, 2]}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, padding = dense<0> : tensor<2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c13
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{body must take 2 arguments, got 1}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>}> ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c15
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 2>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// reduce_window_c15: overflow
func.func @f(%a: tensor<2x3xf32>, %z: tensor<f32>) {
  // expected-error@+1 {{padding must leave dimension 0 a size of at least 0 that fits 64 bits}}
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1>, base_dilations = array<i64: 9223372036854775807, 1>, padding = dense<[[9223372036854775807, 0], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// map_c1
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{result must have shape}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

// map_c3
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{dimensions must be 0 .. rank-1 in order, got 1 at 0}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 1, 0>}> ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// map_c4
func.func @f(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{computation must return}}
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xi32>
  return
}

// -----

// sort_c1
func.func @f(%p: tensor<i1>) {
  // expected-error@+1 {{expected at least one input}}
  "stablehlo.sort"() ({
      stablehlo.return %p : tensor<i1>
    }) : () -> ()
  return
}

// -----

// sort_c2
func.func @f(%a: tensor<2x3xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{results must have the inputs' types}}
  %0 = "stablehlo.sort"(%a) ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }) : (tensor<2x3xf32>) -> tensor<2x3xi32>
  return
}

// -----

// sort_c4
func.func @f(%a: tensor<2x3xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{dimension must be in [-2, 2), got 2}}
  %0 = "stablehlo.sort"(%a) <{dimension = 2 : i64}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// sort_c5
func.func @f(%a: tensor<2x3xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{comparator must take}}
  %0 = "stablehlo.sort"(%a) ({
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c2
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{source must have shape}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2, 1>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c4
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{window_dimensions must have 2 entries, got 1}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 1>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c6
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{window_strides must have 2 entries, got 3}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_strides = array<i64: 1, 1, 1>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c7
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{window_strides must be at least 1, got 0}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_strides = array<i64: 0, 1>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c8
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{padding must have shape [2, 2]}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{padding = dense<0> : tensor<2x3xi64>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c12
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf64>
  return
}

// -----

// select_and_scatter_c5
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{window_dimensions must be at least 1, got 0}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 0, 1>}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c9
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{select must return}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c10
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{scatter must take 2 arguments, got 1}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%x0: tensor<f32>):
      stablehlo.return %x0 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return
}

// -----

// select_and_scatter_c11
func.func @f(%a: tensor<2x3xf32>, %s: tensor<2x3xf32>, %z: tensor<f32>, %p: tensor<i1>) {
  // expected-error@+1 {{results must have type}}
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{}> ({
    ^bb0(%x0: tensor<f32>, %x1: tensor<f32>):
      stablehlo.return %p : tensor<i1>
    }, {
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      stablehlo.return %l : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

// reduce_c6: a body on one quantized type, which may be another than the input's.
func.func @f(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %z: tensor<!quant.uniform<i8:f32, 0.5>>) {
  %0 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<!quant.uniform<i32:f32, 0.25>>, %y: tensor<!quant.uniform<i32:f32, 0.25>>):
    %s = stablehlo.add %x, %y : tensor<!quant.uniform<i32:f32, 0.25>>
    stablehlo.return %s : tensor<!quant.uniform<i32:f32, 0.25>>
  }) {dimensions = array<i64: 0>} : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>) -> tensor<!quant.uniform<i32:f32, 0.25>>
  // expected-error@+1 {{must have one tensor type for arguments 0 and 1 and for result 0}}
  %1 = "stablehlo.reduce"(%a, %z) ({
  ^bb0(%x: tensor<!quant.uniform<i32:f32, 0.25>>, %y: tensor<!quant.uniform<i32:f32, 0.25>>):
    %s = "stablehlo.add"(%x, %y) : (tensor<!quant.uniform<i32:f32, 0.25>>, tensor<!quant.uniform<i32:f32, 0.25>>) -> tensor<!quant.uniform<i32:f32, 0.5>>
    stablehlo.return %s : tensor<!quant.uniform<i32:f32, 0.5>>
  }) {dimensions = array<i64: 0>} : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>) -> tensor<!quant.uniform<i32:f32, 0.25>>
  return
}
