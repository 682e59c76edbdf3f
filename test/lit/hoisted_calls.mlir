// What LAPACK makes of a value that no trip changes is made once, before the loop. Of other calls nobody knows whether they may run when no trip does.
// RUN: tenon-opt --simplify %s | FileCheck %s

// CHECK: custom_call @lapack_sgesdd_ffi
// CHECK: while
// CHECK-NOT: lapack_sgesdd_ffi
// CHECK: custom_call @users_own
func.func @main(%a: tensor<3x2xf32>, %n: tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<2xf32>
  %r:3 = stablehlo.while(%i = %zero, %s = %none, %u = %none) : tensor<i32>, tensor<2xf32>, tensor<2xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {api_version = 4 : i32, backend_config = {mode = 83 : ui8},
        operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
        result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0]> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]}
        : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>, tensor<3x2xf32>, tensor<2x2xf32>, tensor<i32>)
    %1 = stablehlo.custom_call @users_own(%a) {api_version = 4 : i32} : (tensor<3x2xf32>) -> tensor<2xf32>
    %2 = stablehlo.add %s, %0#1 : tensor<2xf32>
    %3 = stablehlo.add %u, %1 : tensor<2xf32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %2, %3 : tensor<i32>, tensor<2xf32>, tensor<2xf32>
  }
  return %r#1, %r#2 : tensor<2xf32>, tensor<2xf32>
}
