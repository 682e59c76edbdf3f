// The call's function must be a comparator of its operands.
// RUN: not tenon-opt --import --split-input-file %s 2>&1 | FileCheck %s

// CHECK: ApproxTopK: {{.*}}comparator must return ('tensor<i1>'), got ()
func.func private @nothing(%a: tensor<f32>, %b: tensor<f32>) { return }
func.func @main(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @ApproxTopK(%x, %z) {called_computations = [@nothing], mhlo.backend_config = {reduction_dim = 0 : i64}} : (tensor<8xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: ApproxTopK: {{.*}}comparator must take ('tensor<f32>', 'tensor<f32>'), got ('tensor<f32>', 'tensor<f32>', 'tensor<f32>', 'tensor<f32>')
func.func private @four(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @ApproxTopK(%x, %z) {called_computations = [@four], mhlo.backend_config = {reduction_dim = 0 : i64}} : (tensor<8xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: ApproxTopK: {{.*}}comparator must take ('tensor<f32>', 'tensor<f32>'), got ('tensor<ui8>', 'tensor<ui8>')
func.func private @bytes(%a: tensor<ui8>, %b: tensor<ui8>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%x: tensor<8xf32>, %z: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @ApproxTopK(%x, %z) {called_computations = [@bytes], mhlo.backend_config = {reduction_dim = 0 : i64}} : (tensor<8xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: ApproxTopK: {{.*}}comparator must take ('tensor<f32>', 'tensor<f32>', 'tensor<i32>', 'tensor<i32>'), got ('tensor<f32>', 'tensor<f32>')
func.func private @two(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%x: tensor<8xf32>, %i: tensor<8xi32>, %z: tensor<f32>, %k: tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %z, %k) {called_computations = [@two], mhlo.backend_config = {reduction_dim = 0 : i64}} : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}
