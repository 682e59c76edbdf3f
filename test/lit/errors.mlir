// Bad input is an error with a place, and exit status 1 (`not` would not take a crash for one).
// RUN: split-file %s %t
// RUN: not tenon-opt %t/syntax.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not tenon-opt --plan %t/syntax.mlir 2>&1 | FileCheck %s --check-prefix=SYNTAX-PLAN
// RUN: not tenon-opt --fuse %t/types.mlir 2>&1 | FileCheck %s --check-prefix=TYPES
// RUN: not tenon-opt --import --split-input-file %t/second.mlir 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: not tenon-opt %t/bad.plan 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not tenon-opt --plan %t/good.kir 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not tenon-opt --emit=asm --isa=avx3 %t/good.kir 2>&1 | FileCheck %s --check-prefix=ISA
// RUN: not tenon-opt --emit=c %t/good.kir 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not tenon-opt %t/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not tenon-opt --no-such-flag 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: tenon-opt --help | FileCheck %s --check-prefix=HELP

// SYNTAX: syntax.mlir:2:{{[0-9]+}}: error:
// SYNTAX-PLAN: syntax.mlir:1: error: {{.*}}2:{{[0-9]+}}
// TYPES: types.mlir:1: error: {{.*}}stablehlo.add
// SECOND: second.mlir:6: error: {{.*}}
// PLAN: bad.plan:1: error: plan text, line 2: {{.*}}near 'zero
// KIND: error: the input is a kernel, for which there is only --emit and --kir-eval
// ISA: error: {{.*}}avx3{{.*}}sse4{{.*}}avx2{{.*}}avx512
// EMIT: --emit: c not in {llvm,asm}
// MISSING: missing.mlir: error: No such file or directory
// FLAG: --no-such-flag
// HELP: --import
// HELP: --simplify
// HELP: --fuse
// HELP: --kir-eval
// HELP: --emit

//--- syntax.mlir
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- types.mlir
func.func @main(%a: tensor<4xf32>, %b: tensor<5xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- second.mlir
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %b : tensor<4xf32>
}
//--- bad.plan
plan "x" {
  arena zero
}
//--- good.kir
kernel v1 params 0 outer 0 {
}
