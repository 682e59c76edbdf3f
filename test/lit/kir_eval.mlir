// What a compiled program computes, by the evaluator of kernels: fusion without code generation.
// RUN: tenon-opt --kir-eval %s | FileCheck %s
// RUN: tenon-opt --plan %s | tenon-opt --kir-eval - | FileCheck %s

// CHECK: f32[{{[0-9,]+}}] = 2 12 30
func.func @main(%a: tensor<3x2xf32>) -> tensor<3xf32> {
  %init = stablehlo.constant dense<1.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<3x2xf32>
  %0 = stablehlo.add %a, %one : tensor<3x2xf32>
  %1 = stablehlo.reduce(%0 init: %init) applies stablehlo.multiply across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
