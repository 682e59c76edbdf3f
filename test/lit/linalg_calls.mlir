// LAPACK's routines compute of the matrices what their names say where they read them by columns, as JAX has them do. Read by
// rows they compute of what is transposed: they stay calls.
// RUN: tenon-opt --import --split-input-file %s | FileCheck %s

// CHECK: program @by_columns
// CHECK-DAG: linalg {{.*}} : f32[2,3,3] s32[2]
// CHECK-NOT: custom_call
// CHECK: return
module @by_columns {
  func.func @main(%a: tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi32>) {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {api_version = 4 : i32, mhlo.backend_config = {uplo = 76 : ui8},
         operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>],
         result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi32>)
    return %0#0, %0#1 : tensor<2x3x3xf32>, tensor<2xi32>
  }
}

// -----

// CHECK: program @by_rows
// CHECK: custom_call
// CHECK: custom_call
// CHECK: return
module @by_rows {
  func.func @main(%a: tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi32>, tensor<2x3x3xf32>, tensor<2xi32>) {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {api_version = 4 : i32, mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi32>)
    %1:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {api_version = 4 : i32, mhlo.backend_config = {uplo = 76 : ui8},
         operand_layouts = [dense<[2, 1, 0]> : tensor<3xindex>],
         result_layouts = [dense<[2, 1, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]} : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi32>)
    return %0#0, %0#1, %1#0, %1#1 : tensor<2x3x3xf32>, tensor<2xi32>, tensor<2x3x3xf32>, tensor<2xi32>
  }
}
