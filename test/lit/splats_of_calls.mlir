// What a call is configured with is written out, within reason.
// RUN: split-file %s %t
// RUN: tenon-opt --plan %t/some.mlir | FileCheck %s --check-prefix=SOME
// RUN: not tenon-opt --plan %t/many.mlir 2>&1 | FileCheck %s --check-prefix=MANY

// SOME: custom_call "f"
// MANY: attribute a of a call repeats one value 2000000000 times, at most 1048576 may be

//--- some.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @f(%x) {api_version = 4 : i32, backend_config = {a = dense<1> : tensor<3xi8>}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- many.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @f(%x) {api_version = 4 : i32, backend_config = {b = {a = dense<1> : tensor<2000000000xi8>}}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
