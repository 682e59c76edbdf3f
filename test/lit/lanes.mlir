// Which dims run in lanes, and how rows end.
// RUN: tenon-opt --emit=llvm --isa=avx512 --split-input-file %s | FileCheck %s

// Columns are summed in lanes of columns however much is done with each sum.
// CHECK: define void @tenon_
// CHECK-NOT: gather
// CHECK: call <{{[0-9]+}} x double> @llvm.fma
// CHECK: ret void
module @sums_of_columns {
  func.func @main(%x: tensor<60x500xf32>) -> tensor<500xf64> {
    %z = stablehlo.constant dense<0.0> : tensor<60x500xf32>
    %p = stablehlo.compare GT, %x, %z : (tensor<60x500xf32>, tensor<60x500xf32>) -> tensor<60x500xi1>
    %i = stablehlo.convert %p : (tensor<60x500xi1>) -> tensor<60x500xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.reduce(%i init: %c) applies stablehlo.add across dimensions = [0] : (tensor<60x500xi32>, tensor<i32>) -> tensor<500xi32>
    %f = stablehlo.convert %s : (tensor<500xi32>) -> tensor<500xf64>
    %l = stablehlo.log_plus_one %f : tensor<500xf64>
    return %l : tensor<500xf64>
  }
}

// -----

// Rows of 32 bytes are vectors of 32, without masks.
// CHECK: define void @tenon_
// CHECK-NOT: masked
// CHECK: load <32 x i8>
// CHECK-NOT: masked
// CHECK: ret void
module @rows_of_bytes {
  func.func @main(%x: tensor<500x33xui8>) -> tensor<500x32xui8> {
    %0 = stablehlo.slice %x [0:500, 0:32] : (tensor<500x33xui8>) -> tensor<500x32xui8>
    %1 = stablehlo.not %0 : tensor<500x32xui8>
    return %1 : tensor<500x32xui8>
  }
}

// -----

// Bytes that lie the other way round are turned in tiles, however many of a short dim are written out.
// CHECK: define void @tenon_
// CHECK: load <16 x i8>
// CHECK: shufflevector <16 x i8>
// CHECK: store <16 x i8>
module @bytes_turned {
  func.func @main(%x: tensor<3x40x5x60xui8>) -> tensor<3x60x5x40xui8> {
    %y = stablehlo.transpose %x, dims = [0, 3, 2, 1] : (tensor<3x40x5x60xui8>) -> tensor<3x60x5x40xui8>
    return %y : tensor<3x60x5x40xui8>
  }
}
