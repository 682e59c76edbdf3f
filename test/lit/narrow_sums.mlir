// Sums of many narrow floats are sums of f32: one that rounds to bf16 after each element stands still at 256 times what
// it adds. Few are added as they stand in the program. Arguments are 0, 1, 2 ...
// RUN: tenon-opt --kir-eval --split-input-file %s | FileCheck %s

// Columns: 359400 and 360000.
// CHECK: bf16[2] = 358400 360448
func.func @main(%x: tensor<600x2xbf16>) -> tensor<2xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<600x2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// -----

// A running sum: 31125 in the end.
// CHECK: f32[250] = 0 1 3 6 {{.*}} 31125
func.func @main(%x: tensor<250xbf16>) -> tensor<250xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 250>, padding = dense<[[249, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
    %s = stablehlo.add %p, %q : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<250xbf16>, tensor<bf16>) -> tensor<250xbf16>
  return %0 : tensor<250xbf16>
}
