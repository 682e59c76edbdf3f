// Code of the kernels, for each instruction set.
// RUN: tenon-opt --emit=llvm %s | FileCheck %s --check-prefix=LLVM
// RUN: tenon-opt --emit=llvm --isa=sse4 %s | FileCheck %s --check-prefix=LLVM-SSE4
// RUN: tenon-opt --emit=asm --isa=avx2 %s | FileCheck %s --check-prefix=AVX2
// RUN: tenon-opt --emit=asm --isa=avx512 %s | FileCheck %s --check-prefix=AVX512
// From each form that the compiler prints on the way.
// RUN: tenon-opt --fuse %s | tenon-opt --emit=llvm - | FileCheck %s --check-prefix=LLVM
// RUN: tenon-opt --plan %s | tenon-opt --emit=asm - | FileCheck %s --check-prefix=AVX2

// LLVM: define void @tenon_[[HASH:[0-9a-f]+]](ptr
// LLVM: fmul <{{[0-9]+}} x float>
// LLVM: ret void
// LLVM-SSE4: fmul <{{[0-9]+}} x float>
// AVX2: tenon_{{[0-9a-f]+}}:
// AVX2: vmulps {{.*}}%ymm
// AVX2-NOT: %zmm
// AVX512: vmulps {{.*}}%zmm
func.func @main(%a: tensor<4096xf32>, %b: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = stablehlo.multiply %a, %b : tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
