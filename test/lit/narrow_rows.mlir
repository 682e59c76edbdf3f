// Rows of bytes that are shorter than a register run in lanes of their own where masks leave the others out; elsewhere
// the rows are the lanes.
// RUN: tenon-opt --target cpu:avx512:cores=2 --plan %s | FileCheck %s --check-prefixes=MASKS
// RUN: tenon-opt --target cpu:avx2:cores=2 --plan %s | FileCheck %s --check-prefixes=NONE
// MASKS: dim d0 parallel p0
// MASKS-NEXT: dim d1 parallel 7
// MASKS: stage (d0, d1)
// NONE: dim d0 parallel p0
// NONE-NOT: dim d1
// NONE: stage (d0) {
// NONE-COUNT-7: store
module @narrow_rows {
  func.func @main(%x: tensor<20000x7xui8>, %b: tensor<7xui8>) -> tensor<20000x7xui8> {
    %rows = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<7xui8>) -> tensor<20000x7xui8>
    %y = stablehlo.add %x, %rows : tensor<20000x7xui8>
    return %y : tensor<20000x7xui8>
  }
}
