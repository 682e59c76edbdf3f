// A splat of a few bytes may say that it is any number of elements: nobody writes it out before it is judged.
// RUN: not tenon-opt --import --split-input-file %s 2>&1 | FileCheck %s

// CHECK: sources of source_target_pairs must not repeat a value, got 0 for all
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<0> : tensor<2000000000x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: replica_groups must not repeat id 0
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x2000000000xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: replica_groups must hold an id, got nothing but -1
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<-1> : tensor<1x2000000000xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: operand_layouts must have 1 entries, got 2000000000
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<2000000000xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK: operand_layouts must not repeat a value
func.func @main(%x: tensor<*xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<0> : tensor<2000000000xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<*xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
