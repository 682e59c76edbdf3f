// A window as long as its operand's dim begins at 0 or is dropped: its rows are one with those of the next dim.
// RUN: tenon-opt --plan %s | FileCheck %s

// CHECK: dim d0 serial
// CHECK-NEXT: dim d1 parallel 7
// CHECK-NEXT: dim d2 parallel 27
// CHECK-NOT: dim d3
// CHECK: store b2[d1 + %{{[0-9]+}}, d2 + %{{[0-9]+}}] = %{{[0-9]+}} combine g0 row_major if {{.*}} && 0 <= %{{[0-9]+}} < 1
module @windows {
  func.func @main(%x: tensor<80x90x3xf32>, %at: tensor<130x3xi32>, %u: tensor<130x7x9x3xf32>) -> tensor<80x90x3xf32> {
    %0 = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2, 3], scatter_dims_to_operand_dims = [0, 1, 2], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<80x90x3xf32>, tensor<130x3xi32>, tensor<130x7x9x3xf32>) -> tensor<80x90x3xf32>
    return %0 : tensor<80x90x3xf32>
  }
}
