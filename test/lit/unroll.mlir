// Short loops are written out, unless an element of the result would be made of too many of those before.
// RUN: tenon-opt --simplify --split-input-file %s | FileCheck %s

// A trip looks at what it carries in five ways, whose order is no matter: four trips in 70.
// CHECK-LABEL: program @stencil
// CHECK: while
module @stencil {
  func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<40xf32>
    cond {
      %n = stablehlo.constant dense<4> : tensor<i32>
      %again = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %again : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %f = stablehlo.constant dense<0.0> : tensor<f32>
      %p = stablehlo.pad %c, %f, low = [2], high = [2], interior = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<44xf32>
      %a = stablehlo.slice %p [0:40] : (tensor<44xf32>) -> tensor<40xf32>
      %b = stablehlo.slice %p [1:41] : (tensor<44xf32>) -> tensor<40xf32>
      %d = stablehlo.slice %p [3:43] : (tensor<44xf32>) -> tensor<40xf32>
      %e = stablehlo.slice %p [4:44] : (tensor<44xf32>) -> tensor<40xf32>
      %ab = stablehlo.add %a, %b : tensor<40xf32>
      %de = stablehlo.add %d, %e : tensor<40xf32>
      %s = stablehlo.add %ab, %de : tensor<40xf32>
      %t = stablehlo.add %s, %c : tensor<40xf32>
      stablehlo.return %next, %t : tensor<i32>, tensor<40xf32>
    }
    return %0#1 : tensor<40xf32>
  }
}

// -----

// Two carries that look at each other where they lie, and what is stacked, grow by nothing.
// CHECK-LABEL: program @leapfrog
// CHECK-NOT: while
module @leapfrog {
  func.func @main(%q: tensor<40xf32>, %p: tensor<40xf32>, %all: tensor<8x40xf32>) -> (tensor<40xf32>, tensor<8x40xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:4 = stablehlo.while(%i = %zero, %a = %q, %b = %p, %s = %all) : tensor<i32>, tensor<40xf32>, tensor<40xf32>, tensor<8x40xf32>
    cond {
      %n = stablehlo.constant dense<8> : tensor<i32>
      %again = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %again : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %none = stablehlo.constant dense<0> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %u = stablehlo.add %a, %b : tensor<40xf32>
      %v = stablehlo.subtract %b, %u : tensor<40xf32>
      %row = stablehlo.reshape %v : (tensor<40xf32>) -> tensor<1x40xf32>
      %t = stablehlo.dynamic_update_slice %s, %row, %i, %none : (tensor<8x40xf32>, tensor<1x40xf32>, tensor<i32>, tensor<i32>) -> tensor<8x40xf32>
      stablehlo.return %next, %u, %v, %t : tensor<i32>, tensor<40xf32>, tensor<40xf32>, tensor<8x40xf32>
    }
    return %0#1, %0#3 : tensor<40xf32>, tensor<8x40xf32>
  }
}

// -----

// What a condition does besides happens once more than there are trips.
// CHECK-LABEL: program @effects_of_condition
// CHECK: while
// CHECK: custom_call @print
module @effects_of_condition {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      stablehlo.custom_call @print(%i) {has_side_effect = true, api_version = 4 : i32, backend_config = {}} : (tensor<i32>) -> ()
      %again = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %again : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %b = stablehlo.add %a, %a : tensor<f32>
      stablehlo.return %next, %b : tensor<i32>, tensor<f32>
    }
    return %r#1 : tensor<f32>
  }
}

// -----

// Layers: a loop would copy its part of the weights for each product, which for a few rows takes as long as the product.
// CHECK-LABEL: program @layers
// CHECK-NOT: while
// CHECK-COUNT-12: dot_general
// CHECK-NOT: while
// CHECK: return
module @layers {
  func.func @main(%x: tensor<4x256xf32>, %w: tensor<12x256x256xf32>) -> tensor<4x256xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4x256xf32>
    cond {
      %n = stablehlo.constant dense<12> : tensor<i32>
      %again = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %again : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %part = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 256, 256] : (tensor<12x256x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x256xf32>
      %layer = stablehlo.reshape %part : (tensor<1x256x256xf32>) -> tensor<256x256xf32>
      %b = stablehlo.dot_general %a, %layer, contracting_dims = [1] x [0] : (tensor<4x256xf32>, tensor<256x256xf32>) -> tensor<4x256xf32>
      %c = stablehlo.tanh %b : tensor<4x256xf32>
      stablehlo.return %next, %c : tensor<i32>, tensor<4x256xf32>
    }
    return %r#1 : tensor<4x256xf32>
  }
}

// -----

// With many rows the copy is a small part of the trip, and the loop is less code.
// CHECK-LABEL: program @wide_layers
// CHECK: while
module @wide_layers {
  func.func @main(%x: tensor<400x256xf32>, %w: tensor<12x256x256xf32>) -> tensor<400x256xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<400x256xf32>
    cond {
      %n = stablehlo.constant dense<12> : tensor<i32>
      %again = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %again : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %part = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 256, 256] : (tensor<12x256x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x256xf32>
      %layer = stablehlo.reshape %part : (tensor<1x256x256xf32>) -> tensor<256x256xf32>
      %b = stablehlo.dot_general %a, %layer, contracting_dims = [1] x [0] : (tensor<400x256xf32>, tensor<256x256xf32>) -> tensor<400x256xf32>
      %c = stablehlo.tanh %b : tensor<400x256xf32>
      stablehlo.return %next, %c : tensor<i32>, tensor<400x256xf32>
    }
    return %r#1 : tensor<400x256xf32>
  }
}
