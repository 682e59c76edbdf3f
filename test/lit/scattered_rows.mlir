// Long rows that data send to places of an array: each core goes through all of them and takes those of its part.
// RUN: tenon-opt --plan --target cpu:avx512:cores=4 %s | FileCheck %s
// RUN: tenon-opt --plan --target cpu:avx512:cores=1 %s | FileCheck %s --check-prefix=ALONE

// CHECK: dim d0 parallel 4
// CHECK-NEXT: dim d1 serial
// CHECK-NEXT: dim d2 parallel
// CHECK: combine g0 row_major if 0 <= %{{[0-9]+}} < p{{[0-9]+}} && 0 <= d0*p{{[0-9]+}} + %{{[0-9]+}} < p
// CHECK: split (d0) grain 1
// ALONE: dim d0 serial
// ALONE-NEXT: dim d1 parallel
module @rows {
  func.func @main(%x: tensor<1000x600xf32>, %at: tensor<500x1xi32>, %u: tensor<500x600xf32>) -> tensor<1000x600xf32> {
    %0 = "stablehlo.scatter"(%x, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %sum = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<1000x600xf32>, tensor<500x1xi32>, tensor<500x600xf32>) -> tensor<1000x600xf32>
    return %0 : tensor<1000x600xf32>
  }
}
