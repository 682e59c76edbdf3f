// Branches in a region for elements are all computed, and one is chosen: no kernel jumps per element. What the program
// itself branches on stays a branch.
// RUN: tenon-opt --import %s | FileCheck %s

// CHECK-LABEL: program @chosen
// CHECK: reduce
// CHECK: %[[P:[0-9]+]] = compare
// CHECK: %[[S:[0-9]+]] = subtract
// CHECK: select %[[P]],
// CHECK-NOT: case
// CHECK: %[[BITS:[0-9]+]] = and
// CHECK: %[[ONE:[0-9]+]] = compare %[[BITS]],
// CHECK: %[[LAST:[0-9]+]] = select %[[ONE]],
// CHECK: %[[NEGATED:[0-9]+]] = negate
// CHECK: %[[ZERO:[0-9]+]] = compare %[[BITS]],
// CHECK: select %[[ZERO]], %[[NEGATED]], %[[LAST]] : s32[8,9]
// CHECK: = case
module @chosen {
  func.func @main(%a: tensor<8x9xi32>, %p: tensor<i1>, %n: tensor<i32>) -> (tensor<8xi32>, tensor<8x9xi32>, tensor<i32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reduce(%a init: %zero) across dimensions = [1] : (tensor<8x9xi32>, tensor<i32>) -> tensor<8xi32>
     reducer(%x: tensor<i32>, %y: tensor<i32>) {
      %less = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %far = "stablehlo.if"(%less) ({
        %d = stablehlo.subtract %y, %x : tensor<i32>
        stablehlo.return %d : tensor<i32>
      }, {
        stablehlo.return %x : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      stablehlo.return %far : tensor<i32>
    }
    %1 = "stablehlo.map"(%a) ({
    ^bb0(%x: tensor<i32>):
      %low = stablehlo.constant dense<3> : tensor<i32>
      %bits = stablehlo.and %x, %low : tensor<i32>
      %r = "stablehlo.case"(%bits) ({
        %y = stablehlo.negate %x : tensor<i32>
        stablehlo.return %y : tensor<i32>
      }, {
        stablehlo.return %low : tensor<i32>
      }, {
        stablehlo.return %x : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      stablehlo.return %r : tensor<i32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<8x9xi32>) -> tensor<8x9xi32>
    %2 = "stablehlo.if"(%p) ({
      %t = stablehlo.add %n, %n : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }, {
      stablehlo.return %n : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    return %0, %1, %2 : tensor<8xi32>, tensor<8x9xi32>, tensor<i32>
  }
}
