// A product of floats with a predicate that was made a number chooses between the other factor and zero.
// RUN: tenon-opt --import %s | FileCheck %s
module @masked {
  // CHECK-COUNT-2: select
  // CHECK-NOT: multiply
  func.func @main(%x: tensor<4xf32>, %p: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>) {
    %m = stablehlo.convert %p : (tensor<4xi1>) -> tensor<4xf32>
    %a = stablehlo.multiply %x, %m : tensor<4xf32>
    %b = stablehlo.multiply %m, %x : tensor<4xf32>
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}
